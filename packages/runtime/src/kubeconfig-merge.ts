import { existsSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { RuntimeErrorCode } from './errors.ts';
import { readBounded } from './kubeconfig.ts';
import { type Kubeconfig, parseKubeconfig } from './kubeconfig-file.ts';

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
