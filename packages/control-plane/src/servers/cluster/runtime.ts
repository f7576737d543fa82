import type { ServerProcess } from '../../processes/server-process.ts';
import type { RuntimeName } from '../../toolchain/debian-packages.ts';
import type { Tools } from '../../toolchain/tools.ts';
import type { NodeSpace } from './node-space.ts';
import type { PlacedMirror } from './registries.ts';

/** An image in the node's store, by one of its names. */
export interface StoredImage {
  readonly name: string;
  readonly digest: string;
}

/** The node a runtime is for. */
export interface RuntimeNode {
  readonly dir: string;
  readonly space: NodeSpace;
  readonly tools: Tools;
  /** Environment of the runtime, the proxy's for example. */
  readonly env: Readonly<Record<string, string>>;
}

/** Parts that differ from runtime to runtime. */
export interface NodeRuntime {
  readonly name: RuntimeName;
  /** The runtime's socket as the node sees it. */
  readonly socket: string;
  /** Settings of the kubelet that go with it. */
  readonly kubelet: Readonly<Record<string, unknown>>;
  /** It learns of other registries by a restart; otherwise they hold at the next pull. */
  readonly readsRegistriesAtStart: boolean;
  /** Writes the configuration, before the first start. */
  configure(): Promise<void>;
  /** Starts it; the socket answers a moment later. */
  start(): Promise<ServerProcess>;
  /** Writes down where registries are. */
  setRegistries(mirrors: readonly PlacedMirror[]): Promise<void>;
  /** Images that it holds. */
  images(): Promise<StoredImage[]>;
  /** Imports an OCI archive of one image. */
  importImage(archive: string, name: string): Promise<void>;
}

/** Path on this machine of a path below a node's `/run`. */
export const outside = (dir: string, path: string): string => path.replace(/^\/run\//, `${dir}/run/`);

/** A program that runs another one as an OCI runtime after a change to the container's `config.json`, in the words of sed. */
export const ociWrapper = (program: string, expressions: readonly string[]): string => `#!/bin/sh -e
last=
for arg; do
  if [ "$last" = --bundle ]; then sed -z -i ${expressions.map((expression) => `-e '${expression}'`).join(' ')} "$arg/config.json"; fi
  last=$arg
done
exec ${program} "$@"
`;

/** Proxy of a node's runtime. */
export interface NodeProxy {
  /** A function gets the address of this machine as seen from the cluster. */
  readonly url: string | ((gatewayAddress: string) => string);
  /** Hosts, domains and CIDRs that are reached without it. */
  readonly noProxy?: readonly string[];
}

/** Variables of a runtime; empty ones keep those of this program's environment out. */
export function proxyEnvironment(proxy: NodeProxy | undefined, gatewayAddress: string): Record<string, string> {
  const url = typeof proxy?.url === 'function' ? proxy.url(gatewayAddress) : (proxy?.url ?? '');
  const values = { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: proxy?.noProxy?.join(',') ?? '' };
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  );
}
