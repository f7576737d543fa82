import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { RuntimeErrorCode } from './errors.ts';
import { accessOf, type ClusterAccess, type Kubeconfig, parseKubeconfig, podAccess } from './kubeconfig-file.ts';

/** Where a client's connection data comes from; in-cluster when neither text nor path is given. */
export interface KubeconfigSource {
  readonly kubeconfigPath?: string;
  /** The kubeconfig itself, as YAML or JSON. */
  readonly kubeconfig?: string;
  /** Default: `current-context`. */
  readonly context?: string;
}

const MAX_KUBECONFIG_BYTES = 4 * 1024 * 1024;

/** Loads a kubeconfig; errors name the source and the fix. */
export function loadKubeconfig(source: KubeconfigSource): ClusterAccess {
  const { kubeconfigPath: path, kubeconfig } = source;
  if (path === undefined && kubeconfig === undefined) return inPod();
  return reading(source, (config, context, from) =>
    withServer(
      accessOf(config, context, kubeconfig === undefined ? path : undefined),
      `${from} names no server for context ${JSON.stringify(context ?? '')}`,
    ),
  );
}

/** Reads of a source what is asked for of the context that counts; an error names the source. */
function reading<T>(
  { kubeconfigPath: path = '', kubeconfig, context: asked }: KubeconfigSource,
  read: (config: Kubeconfig, context: string | undefined, from: string) => T,
): T {
  const from = kubeconfig === undefined ? `kubeconfig ${path}` : 'kubeconfig text';
  try {
    const config = parseKubeconfig(kubeconfig ?? readBounded(path));
    return read(config, contextOf(config, asked, from), from);
  } catch (error) {
    if (error instanceof FlotillaError) throw error;
    throw invalid(`${from} cannot be read: ${errorMessage(error)}`, error);
  }
}

/** Namespace of the context that a kubeconfig is used with; undefined where it names none. Throws as `createClient` does. */
export function readContextNamespace(source: KubeconfigSource): string | undefined {
  if (source.kubeconfigPath === undefined && source.kubeconfig === undefined) return undefined;
  return reading(source, ({ contexts }, context) => contexts.find(({ name }) => name === context)?.context?.namespace);
}

function inPod(): ClusterAccess {
  // biome-ignore lint/style/noProcessEnv: Kubernetes tells a pod in variables of fixed names where its API server is
  const access = podAccess(process.env);
  return withServer(access, 'in-cluster config names no server: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set');
}

function contextOf(config: Kubeconfig, asked: string | undefined, from: string): string | undefined {
  if (asked === undefined) return config['current-context'];
  const names = config.contexts.map(({ name }) => name);
  if (names.includes(asked)) return asked;
  throw invalid(`${from} has no context ${JSON.stringify(asked)}: name one of ${names.join(', ') || '(none)'}`);
}

function withServer(access: ClusterAccess | undefined, problem: string): ClusterAccess {
  if (!access || !URL.canParse(access.server)) throw invalid(`${problem}: set clusters[].cluster.server, or run in a pod`);
  return { ...access, server: access.server.replace(/(?<!\/)\/+$/, '') };
}

/** Access of others to the server of a kubeconfig. */
export interface ServerAddress {
  readonly server: string;
  /** PEM in base64; undefined: the public authorities. */
  readonly certificateAuthority: string | undefined;
  /** The kubeconfig accepts any certificate. */
  readonly skipsVerification: boolean;
}

/** Reads what is public of a kubeconfig. Throws `FLOTILLA_KUBECONFIG_INVALID` as `createClient` does, or when its authority cannot be read. */
export function readServerAddress(source: KubeconfigSource): ServerAddress {
  const {
    server,
    skipsVerification,
    certificateAuthority: { data, file },
  } = loadKubeconfig(source);
  if (data !== undefined || file === undefined) return { server, certificateAuthority: data, skipsVerification };
  try {
    return { server, certificateAuthority: readFileSync(file).toString('base64'), skipsVerification };
  } catch (error) {
    throw invalid(`certificate-authority ${file} cannot be read: ${errorMessage(error)}`, error);
  }
}

/** A file of the size that a kubeconfig may have. Throws for a larger one, and as reading does. */
function readBounded(path: string): string {
  if (statSync(path).size > MAX_KUBECONFIG_BYTES) throw new Error('it is larger than 4 MiB');
  return readFileSync(path, 'utf8');
}

const invalid = (message: string, cause?: unknown): FlotillaError => new FlotillaError(RuntimeErrorCode.kubeconfig, message, { cause });

const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile', 'token-file'];

/**
 * Several kubeconfigs as one, as kubectl merges those of KUBECONFIG: of each name the first counts, and the first `current-context`; paths count from the folder of
 * their file, and a file that is not there has nothing.
 * @throws FlotillaError `FLOTILLA_KUBECONFIG_INVALID` naming the file that cannot be read, or all when there is none
 */
export function mergeKubeconfigs(paths: readonly string[]): string {
  const there = paths.filter((path) => existsSync(path));
  if (there.length === 0)
    throw new FlotillaError(
      RuntimeErrorCode.kubeconfig,
      `KUBECONFIG names ${paths.join(', ')}, and there is no such file: name one that is there`,
    );
  const all = there.map(readOne);
  const merged = {
    clusters: firstOf(all.flatMap(({ clusters }) => clusters)),
    users: firstOf(all.flatMap(({ users }) => users)),
    contexts: firstOf(all.flatMap(({ contexts }) => contexts)),
    'current-context': all.map((config) => config['current-context']).find((context) => context !== undefined),
  };
  return JSON.stringify(merged);
}

function readOne(path: string): Kubeconfig {
  try {
    const config = parseKubeconfig(readBounded(path));
    const here = (part: unknown) => withPathsFrom(dirname(path), part);
    return {
      ...config,
      clusters: config.clusters.map((entry) => ({ ...entry, cluster: here(entry.cluster) })),
      users: config.users.map((entry) => ({ ...entry, user: here(entry.user) })),
    };
  } catch (error) {
    throw new FlotillaError(RuntimeErrorCode.kubeconfig, `kubeconfig ${path} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

function withPathsFrom(folder: string, part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return part;
  const from = (value: unknown) => (typeof value === 'string' && value !== '' && !isAbsolute(value) ? resolve(folder, value) : value);
  const moved = Object.entries(part).map(([key, value]): [string, unknown] => {
    if (FILES.includes(key)) return [key, from(value)];
    return key === 'exec' ? [key, withCommandFrom(value, from)] : [key, value];
  });
  return Object.fromEntries(moved);
}

/** A command without a slash is looked for in PATH. */
function withCommandFrom(exec: unknown, from: (value: unknown) => unknown): unknown {
  if (typeof exec !== 'object' || exec === null || !('command' in exec) || typeof exec.command !== 'string') return exec;
  return exec.command.includes('/') ? { ...exec, command: from(exec.command) } : exec;
}

function firstOf<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  const first = new Map<string, T>();
  for (const entry of entries) if (!first.has(entry.name)) first.set(entry.name, entry);
  return [...first.values()];
}
