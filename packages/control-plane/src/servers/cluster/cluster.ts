import type { Client } from '@flotilla/runtime';
import type { CommandOptions } from '../../processes/command.ts';
import type { ServerProcess } from '../../processes/server-process.ts';
import type { RuntimeName } from '../../toolchain/debian-packages.ts';
import type { Log } from '../../toolchain/go-build.ts';
import type { ApiUser } from '../api-server/credentials.ts';
import type { RegistryMirror } from './registries.ts';
import type { NodeProxy, StoredImage } from './runtime.ts';

/** Options of a cluster. */
export interface ClusterOptions {
  /** Name of the cluster and of its first node. */
  readonly name: string;
  /** Container runtime of the node; default `containerd`. */
  readonly runtime?: RuntimeName;
  /** Rate of the wide area link, both ways, as `tc` writes it: `20mbit`. Default: unlimited. */
  readonly rate?: string;
  /** Registries the node reaches at other places than their names say. */
  readonly registries?: readonly RegistryMirror[];
  /** PEM of authorities in the node's trust bundle, besides those of the machine. */
  readonly trustedAuthorities?: readonly string[];
  /** Proxy that the runtime goes through to registries; default: none, whatever this program's environment says. */
  readonly proxy?: NodeProxy;
  /** Users besides `admin`; RBAC is on. */
  readonly users?: readonly ApiUser[];
  /** Lines for the node's `/etc/hosts`, seen by it and by pods on the host network: name → address. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** Further nodes, each in namespaces of its own behind the first one's link, on a fast network; at most seven. */
  readonly nodes?: readonly { readonly name: string; readonly runtime?: RuntimeName }[];
  /** Network of the pods; default `10.88.INDEX.0/24`. */
  readonly podCidr?: string;
  /** Further kube-apiserver flags. */
  readonly apiServerFlags?: readonly string[];
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** A further node of a cluster. */
export interface ClusterNode {
  readonly name: string;
  /** The runtime's socket from outside. */
  readonly runtimeSocket: string;
  /** Content of its runtime. */
  images(): Promise<StoredImage[]>;
  /** Runs a command on it, in its namespaces. */
  run(program: string, args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Ends everything on it at once; its disk stays. */
  cutPower(): Promise<void>;
  /** Boots it again. */
  restorePower(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

/** A whole Kubernetes cluster in namespaces of its own, of one node but for `options.nodes`. */
export interface Cluster extends AsyncDisposable {
  readonly name: string;
  readonly dir: string;
  /** Path of the admin's kubeconfig, over the administration link: works also while the wide area link is cut. */
  readonly kubeconfig: string;
  /** Path of a kubeconfig for a user; `over` says which link it takes (default `admin`; other clusters need `wan`). */
  kubeconfigFor(user: string, over?: 'admin' | 'wan'): Promise<string>;
  /** Client as admin over the administration link; ended with the cluster. */
  client(): Client;
  /** API server on the wide area link, for other clusters and their pods. */
  readonly url: string;
  /** PEM of the API server's certificate authority. */
  readonly certificateAuthority: string;
  /** Node on the wide area link. */
  readonly address: string;
  /** This machine on the wide area link, as seen from inside. */
  readonly gatewayAddress: string;
  readonly runtime: RuntimeName;
  /** The runtime's socket as the node sees it. */
  readonly nodeSocket: string;
  /** The runtime's socket from outside. */
  readonly runtimeSocket: string;
  /** Milliseconds from nothing to a Ready node, tool builds not counted. */
  readonly startedInMs: number;
  /** Tells the runtime of a further registry, by a restart where it needs one; holds at the next pull. */
  addRegistry(mirror: RegistryMirror): Promise<void>;
  /** Ends the runtime, does what is to be done meanwhile, and starts it again; resolves when it answers. Pods go on. */
  restartRuntime(meanwhile?: () => Promise<void>): Promise<void>;
  /** Ends the first node's kubelet and starts one with these settings besides those of every cluster. Pods go on. */
  restartKubelet(settings?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Shapes the wide area link, or takes the limit off. */
  setRate(rate: string | undefined): Promise<void>;
  /** Bytes of frames that wait at the far end of the shaped link: they were sent, and cross whatever becomes of their receiver. */
  queuedBytes(): Promise<number>;
  cutLink(): Promise<void>;
  restoreLink(): Promise<void>;
  /** Runs kubectl as admin; returns its output. Throws CommandError. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs a command on the node, in its namespaces. */
  run(program: string, args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Starts a server on the node, in its namespaces; it ends with the cluster. Its log is `<name>.log` in the cluster's folder. */
  startServer(name: string, program: string, args: readonly string[]): Promise<ServerProcess>;
  /** Images that the runtime holds. */
  images(): Promise<StoredImage[]>;
  /** Further nodes. */
  readonly nodes: readonly ClusterNode[];
  stop(): Promise<void>;
}
