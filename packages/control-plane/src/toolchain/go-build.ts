import { copyFile, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { ToolsUnavailableError } from '../errors.ts';
import { findProgram, runCommand } from '../processes/command.ts';
import { takeLock } from './build-lock.ts';
import { COMPILE_ENVIRONMENT, COMPILE_FLAGS } from './compile-flags.ts';
import { type CProgram, CRDS, folderOf, type ToolSet } from './tool-sets.ts';

/** Tells the user what goes on; one line per call. */
export type Log = (line: string) => void;

/** One Go build: what becomes the folder `target`. */
interface GoBuild {
  readonly label: string;
  readonly target: string;
  readonly moduleDir: string;
  /** File name in `target` → Go package. */
  readonly packages: Readonly<Record<string, string>>;
  readonly coldBuild: string;
  readonly linkerFlags?: string;
  readonly tags?: readonly string[];
  /** File name in `target` → C sources, compiled with `cc`. */
  readonly cPrograms?: Readonly<Record<string, CProgram>>;
  readonly env?: Readonly<Record<string, string>>;
  /** CRDs that become part of `target`: Go module → paths in it, copied into the folder `crds`. */
  readonly crds?: Readonly<Record<string, readonly string[]>>;
}

/** Options of a tool set's build. */
export interface BuildOptions {
  readonly log: Log;
  /** Leaves the cores to others while they have work. */
  readonly inBackground?: boolean | undefined;
}

/** Downloads the sources of a tool set, where there is Go: a build says what is wrong. */
export async function fetchToolSet(set: ToolSet, signal: AbortSignal): Promise<void> {
  const go = await findProgram('go');
  if (!go || signal.aborted) return;
  const { packages, tags = [], env } = set;
  const args = ['list', '-deps', '-tags', tags.join(','), ...Object.values(packages)];
  await runCommand(go, args, { cwd: folderOf(set), timeoutMs: 10 * 60_000, signal, ...(env && { env }) }).catch(() => undefined);
}

/**
 * Builds a tool set into a folder, once for all processes of the machine: the others wait for it. The folder appears whole or
 * not at all. Throws ToolsUnavailableError (`FLOTILLA_TOOLS_UNAVAILABLE`) that says what to do.
 */
export const buildToolSet = (set: ToolSet, target: string, options: BuildOptions): Promise<void> =>
  goBuild({ ...set, label: `${set.name} tools`, target, moduleDir: folderOf(set) }, options);

/** Builds Go programs into `build.target` unless it is there; see buildToolSet. */
export async function goBuild(build: GoBuild, options: BuildOptions): Promise<void> {
  const { log } = options;
  await using _lock = await takeLock(`${build.target}.lock`, (pid) => log(`Waiting for process ${pid}, which builds the ${build.label}`));
  if (await stat(build.target).catch(() => undefined)) return;
  const go = await findProgram('go');
  if (!go) throw new ToolsUnavailableError(`the ${build.label} are not there and Go is not installed to build them. ${WHAT_TO_DO}`);
  const parent = dirname(build.target);
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, '.building-'));
  try {
    await runGo(go, build, folder, options);
    await rename(folder, build.target);
  } catch (cause) {
    throw new ToolsUnavailableError(`building the ${build.label} with ${go} failed: ${errorMessage(cause)}. ${WHAT_TO_DO}`, { cause });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const WHAT_TO_DO =
  'Install Go 1.26 or later and let it reach its module proxy, or set KUBEBUILDER_ASSETS to a folder that has the programs, or FLOTILLA_CACHE to a cache filled on another machine';

async function runGo(go: string, build: GoBuild, folder: string, { log, inBackground = false }: BuildOptions): Promise<void> {
  const packages = Object.entries(build.packages);
  log(
    `Building the ${build.label} (${Object.keys(build.packages).join(', ')}): ${build.coldBuild} from an empty Go cache, seconds from a full one`,
  );
  const start = performance.now();
  const seen = { compiled: 0, downloaded: 0 };
  const ticker = setInterval(() => {
    const seconds = Math.round((performance.now() - start) / 1000);
    log(`  ${build.label}: ${seconds} s, ${seen.downloaded} modules downloaded, ${seen.compiled} packages compiled`);
  }, 5_000);
  try {
    const flags = [
      '-v',
      ...COMPILE_FLAGS,
      '-ldflags',
      ['-w', build.linkerFlags].join(' '),
      ...(build.tags ? ['-tags', build.tags.join(',')] : []),
    ];
    const [program, ...before] = inBackground ? ['nice', '-n', '15', go] : [go];
    await runCommand(program, [...before, 'build', ...flags, '-o', `${folder}/`, ...packages.map(([, path]) => path)], {
      cwd: build.moduleDir,
      timeoutMs: 30 * 60_000,
      env: { ...COMPILE_ENVIRONMENT, ...build.env },
      onLine: (line) => {
        if (line.startsWith('go: downloading')) seen.downloaded += 1;
        else seen.compiled += 1;
      },
    });
    for (const [name, path] of packages) await renameProgram(folder, path, name);
    await copyCrds(go, build, folder);
    await compilePrograms(go, build, folder);
  } finally {
    clearInterval(ticker);
  }
  log(`Built the ${build.label} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

/** Other people's YAML stays theirs: it comes out of the locked modules, not out of this repository. */
async function copyCrds(go: string, build: GoBuild, folder: string): Promise<void> {
  for (const [module, paths] of Object.entries(build.crds ?? {})) {
    const dir = await moduleSources(go, build, module);
    await mkdir(join(folder, CRDS), { recursive: true });
    for (const path of paths) await copyFile(join(dir, path), join(folder, CRDS, basename(path)));
  }
}

async function compilePrograms(go: string, build: GoBuild, folder: string): Promise<void> {
  for (const [name, program] of Object.entries(build.cPrograms ?? {})) {
    const dir = join(await moduleSources(go, build, program.module), program.folder);
    const sources = (await readdir(dir)).filter((file) => file.endsWith('.c')).map((file) => join(dir, file));
    await runCommand('cc', ['-std=c99', '-Os', '-o', join(folder, name), ...sources]);
  }
}

/** Folder in which Go has unpacked a module by now. */
const moduleSources = async (go: string, { moduleDir, env }: GoBuild, module: string): Promise<string> =>
  (await runCommand(go, ['list', '-m', '-f', '{{.Dir}}', module], { cwd: moduleDir, ...(env && { env }) })).trim();

/** Go names a program after the last element of its package, major version suffix left out: etcd is called `server`. */
async function renameProgram(folder: string, goPackage: string, name: string): Promise<void> {
  const built = basename(goPackage.replace(/\/v\d+$/, ''));
  if (built !== name) await rename(join(folder, built), join(folder, name));
}
