import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readEnvironment } from '../environment.ts';
import { ToolsUnavailableError } from '../errors.ts';
import { type BuildOptions, buildToolSet, fetchToolSet, type Log } from './go-build.ts';
import { buildKey, CRDS, filesOf, TOOL_SETS, type ToolName, type ToolSet } from './tool-sets.ts';

type ToolSource = 'KUBEBUILDER_ASSETS' | 'cache' | 'build';

/** Tools that are ready to run. */
export interface Tools {
  /** Path of a program; only those that were asked for. */
  path(name: ToolName): string;
  /** Folder with the CRDs of the set that a program belongs to: beside the program. */
  crds(name: ToolName): string;
  readonly source: Readonly<Partial<Record<ToolName, ToolSource>>>;
}

const stderrLog: Log = (line) => void process.stderr.write(`${line}\n`);

/**
 * Makes sure that tools are there: from `KUBEBUILDER_ASSETS`, else from the cache, else built with Go.
 * `log` (default: standard error) gets progress lines for what takes long.
 * Throws ToolsUnavailableError that says what to do when no source works.
 */
export async function ensureTools(names: readonly ToolName[], options: Partial<BuildOptions> = {}): Promise<Tools> {
  const paths = new Map<ToolName, string>();
  const source: Partial<Record<ToolName, ToolSource>> = {};
  for (const name of names) {
    const asset = await assetOf(name);
    if (!asset) continue;
    paths.set(name, asset);
    source[name] = 'KUBEBUILDER_ASSETS';
  }
  const wantedOf = (set: ToolSet) => names.filter((name) => filesOf(set).programs.includes(name) && !paths.has(name));
  const wanted = TOOL_SETS.map((set) => ({ set, programs: wantedOf(set) })).filter(({ programs }) => programs.length > 0);
  const sets = wanted.map(({ set }) => set);
  for (const [index, ready] of (await ensureToolSets(sets, { log: stderrLog, ...options })).entries())
    for (const name of wanted[index]?.programs ?? []) {
      paths.set(name, join(ready.folder, name));
      source[name] = ready.source;
    }
  const path = (name: ToolName): string => {
    const found = paths.get(name);
    if (!found)
      throw new ToolsUnavailableError(`${name} is not among the tools for ${process.platform}, or was not asked for: ${names.join(', ')}`);
    return found;
  };
  return { source, path, crds: (name) => join(dirname(path(name)), CRDS) };
}

/** One line for the user: which source gave which tools. */
export function describeTools(tools: Tools): string {
  const groups = Object.groupBy(Object.entries(tools.source), ([, source]) => source);
  return Object.entries(groups)
    .map(([source, entries]) => `${entries?.map(([name]) => name).join(', ')} from ${source === 'build' ? 'a Go build' : source}`)
    .join('; ');
}

async function assetOf(name: ToolName): Promise<string | undefined> {
  const { assetsDir } = readEnvironment();
  if (!assetsDir) return undefined;
  const path = join(assetsDir, name);
  return (await isExecutable(path)) ? path : undefined;
}

interface ReadySet {
  readonly folder: string;
  readonly source: ToolSource;
}

/** One build after the other: sets share packages, which two at a time would compile twice. Meanwhile the sources of the next ones come. */
async function ensureToolSets(sets: readonly ToolSet[], options: BuildOptions): Promise<ReadySet[]> {
  const stopFetching = new AbortController();
  let fetched = Promise.resolve();
  const planned = await Promise.all(
    sets.map(async (set) => {
      const folder = join(readEnvironment().cacheDir, 'tools', await buildKey(set), set.name);
      return { set, folder, isThere: await isComplete(set, folder) };
    }),
  );
  const fetches = planned.map(({ set, isThere }) => {
    if (!isThere) fetched = fetched.then(() => fetchToolSet(set, stopFetching.signal));
    return fetched;
  });
  const ready: ReadySet[] = [];
  try {
    for (const [index, { set, folder, isThere }] of planned.entries()) {
      await (isThere ? undefined : fetches[index]);
      ready.push(isThere ? { folder, source: 'cache' } : await makeToolSet(set, folder, options));
    }
    return ready;
  } finally {
    stopFetching.abort();
    await fetched;
  }
}

/** Builds of this process by their folder: who asks for one that is under way waits for it. */
const builds = new Map<string, Promise<void>>();

async function makeToolSet(set: ToolSet, folder: string, options: BuildOptions): Promise<ReadySet> {
  const build = builds.get(folder) ?? buildToolSet(set, folder, options).finally(() => builds.delete(folder));
  builds.set(folder, build);
  await build;
  if (await isComplete(set, folder)) return { folder, source: 'build' };
  throw new ToolsUnavailableError(
    `the cached ${set.name} tools in ${folder} are incomplete: delete that folder and run the same command again`,
  );
}

async function isComplete(set: ToolSet, folder: string): Promise<boolean> {
  const { programs, crds } = filesOf(set);
  const present = [...programs.map((name) => isExecutable(join(folder, name))), ...crds.map((path) => isReadable(join(folder, path)))];
  return (await Promise.all(present)).every(Boolean);
}

const isExecutable = (path: string): Promise<boolean> => isAccessible(path, constants.X_OK);
const isReadable = (path: string): Promise<boolean> => isAccessible(path, constants.R_OK);

const isAccessible = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );
