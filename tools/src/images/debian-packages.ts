import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { FlotillaError } from '@flotilla/api';
import { runCommand, startCommand } from '@flotilla/control-plane/processes';
import type { LayerFile } from '@flotilla/registry/testing';
import { z } from 'zod';
import type { Architecture } from './cache-folder.ts';
import { fileDigest, writeWhole } from './layer.ts';
import { LockedPackage, lockedPackages, type PackageSet } from './locked-packages.ts';
import { tarEntries } from './tar-entries.ts';

const PACKAGES: Readonly<Record<PackageSet, readonly string[]>> = {
  // What Node needs: the C and C++ libraries and the certificates; gcc-12-base carries their licence.
  base: ['ca-certificates', 'gcc-12-base', 'libc6', 'libgcc-s1', 'libstdc++6'],
  // The server, whose program Debian has in redis-tools, and the libraries it is linked with beyond those.
  redis: [
    'libatomic1',
    'libcap2',
    'libgcrypt20',
    'libgpg-error0',
    'libjemalloc2',
    'liblz4-1',
    'liblzf1',
    'liblzma5',
    'libssl3',
    'libsystemd0',
    'libzstd1',
    'redis-server',
    'redis-tools',
  ],
};
/** An archive may be slow. */
const LONGEST_MS = 300_000;
const SUITE = 'bookworm';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const DebianPackage = LockedPackage.extend({ file: z.string() });
/** One downloaded package. */
export type DebianPackage = z.output<typeof DebianPackage>;

/** Where packages come from and go to. */
export interface DebianOptions {
  /** Cache folder; packages are kept in `debian/<set>/<architecture>`. */
  readonly folder: string;
  readonly set: PackageSet;
  readonly architecture: Architecture;
  /**
   * What to do when the archive has a newer version in the place of a listed one: default `refuse`. `newest` takes what there is, for
   * tests and trials on any day; such a build is not reproducible, and is said.
   */
  readonly superseded?: 'refuse' | 'newest';
  /** Default: the committed list. */
  readonly locked?: readonly LockedPackage[];
  readonly log: (message: string) => void;
}

/**
 * The Debian packages of a set, exactly those of the committed list, from the cache or the archive. Signatures are apt's own
 * check, with apt's state in a folder of ours: the machine's package lists and architectures stay as they are, and no root is needed.
 * Throws `FLOTILLA_IMAGES_DEBIAN` when the archive no longer has a listed version, or delivers other bytes.
 */
export async function debianPackages(options: DebianOptions): Promise<DebianPackage[]> {
  const folder = packagesFolder(options);
  const locked = options.locked ?? (await lockedPackages(options.set, options.architecture));
  const cached = await readCache(folder, locked, options.superseded);
  if (cached) return cached;
  options.log(`Downloading ${locked.length} Debian packages for ${options.architecture} (about 17 MB with the package lists)`);
  const got = await download(options, folder, (available) => choose(locked, available, options));
  await writeWhole(join(folder, 'index.json'), JSON.stringify({ locked, packages: got }, undefined, 2));
  return got;
}

/** The newest packages that the archive has, for the committed list. */
export function newestPackages(place: PackagesPlace): Promise<DebianPackage[]> {
  return download(place, packagesFolder(place), () => PACKAGES[place.set].map((name) => ({ name })));
}

/** Which packages, and in which cache. */
type PackagesPlace = Pick<DebianOptions, 'folder' | 'set' | 'architecture'>;

const packagesFolder = ({ folder, set, architecture }: PackagesPlace): string => join(folder, 'debian', set, architecture);

const Index = z.object({ locked: z.array(LockedPackage), packages: z.array(DebianPackage) });

/** What is in the cache, when it is what the list says, or what stood in for that list. */
async function readCache(
  folder: string,
  locked: readonly LockedPackage[],
  superseded: DebianOptions['superseded'],
): Promise<DebianPackage[] | undefined> {
  const text = await readFile(join(folder, 'index.json'), 'utf8').catch(() => undefined);
  const index = Index.safeParse(text === undefined ? undefined : JSON.parse(text));
  if (!index.success || !isDeepStrictEqual(index.data.locked, locked)) return undefined;
  const { packages } = index.data;
  if (superseded !== 'newest' && !isDeepStrictEqual(packages.map(withoutFile), locked)) return undefined;
  const sums = await Promise.all(packages.map((one) => fileDigest(join(folder, one.file), 'sha256', 'hex').catch(() => '')));
  return packages.every((one, index) => one.sha256 === sums[index]) ? packages : undefined;
}

const withoutFile = ({ name, version, sha256 }: DebianPackage): LockedPackage => ({ name, version, sha256 });

/** A package to download: in this version, with these bytes; any when it is not said. */
type Wanted = Pick<LockedPackage, 'name'> & Partial<LockedPackage>;

/** What to download for a list, when the archive has these versions (`name=version`). */
export function choose(
  locked: readonly LockedPackage[],
  available: ReadonlySet<string>,
  { superseded, log }: Pick<DebianOptions, 'superseded' | 'log'>,
): Wanted[] {
  const gone = locked.filter(({ name, version }) => !available.has(`${name}=${version}`));
  if (gone.length === 0) return [...locked];
  const names = gone.map(({ name, version }) => `${name}=${version}`).join(', ');
  if (superseded !== 'newest')
    throw new FlotillaError(
      'FLOTILLA_IMAGES_DEBIAN',
      `Debian's archive no longer has ${names}: run npm run images -- --renew, read what changed in debian-packages.lock.json and commit it`,
    );
  log(`Debian's archive no longer has ${names}: taking the newest; npm run images -- --renew brings the list up to date`);
  return locked.map((one) => (gone.includes(one) ? { name: one.name } : one));
}

async function download(
  { set, architecture }: PackagesPlace,
  folder: string,
  select: (available: ReadonlySet<string>) => Wanted[],
): Promise<DebianPackage[]> {
  await mkdir(folder, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'flotilla-apt-'));
  try {
    const flags = await aptFlags(scratch, architecture);
    await runCommand('apt-get', [...flags, '-q', 'update'], { timeoutMs: LONGEST_MS });
    const wanted = select(await availableVersions(flags, PACKAGES[set]));
    const specs = wanted.map(({ name, version }) => (version === undefined ? name : `${name}=${version}`));
    await runCommand('apt-get', [...flags, '-q', 'download', ...specs], { cwd: join(scratch, 'debs'), timeoutMs: LONGEST_MS });
    return await keep(scratch, folder, wanted);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** `name=version` of all that the archive has of the packages. */
async function availableVersions(flags: readonly string[], names: readonly string[]): Promise<Set<string>> {
  const table = await runCommand('apt-cache', [...flags, 'madison', ...names]);
  const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return new Set(rows.map(([name, version]) => `${name}=${version}`));
}

/** Flags of apt with all its state in a folder of ours. */
async function aptFlags(scratch: string, architecture: Architecture): Promise<string[]> {
  for (const part of ['lists/partial', 'archives/partial', 'debs']) await mkdir(join(scratch, part), { recursive: true });
  await writeFile(join(scratch, 'status'), '');
  const archive = await mirror();
  const sources = [`${archive} ${SUITE}`, `${archive} ${SUITE}-updates`, `${archive}-security ${SUITE}-security`];
  await writeFile(join(scratch, 'sources.list'), sources.map((source) => `deb [signed-by=${KEYRING}] ${source} main\n`).join(''));
  const settings = {
    'Dir::State': scratch,
    'Dir::State::lists': join(scratch, 'lists'),
    'Dir::State::status': join(scratch, 'status'),
    'Dir::Cache': scratch,
    'Dir::Cache::archives': join(scratch, 'archives'),
    'Dir::Etc::sourcelist': join(scratch, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    // As root apt would fetch as user _apt, who may not enter the scratch folder.
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    'Acquire::http::Timeout': '30',
  };
  return Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
}

/** The machine's own Debian mirror where its sources name one, else Debian's. */
async function mirror(): Promise<string> {
  const sources = await readFile('/etc/apt/sources.list.d/debian.sources', 'utf8').catch(() => '');
  return /^URIs:\s*(https?:\/\/\S+\/debian)\/?\s*$/m.exec(sources)?.[1] ?? 'http://deb.debian.org/debian';
}

/** dpkg's own placeholders. */
const FORMAT = ['Package', 'Version'].map((field) => `\${${field}}`).join('\\n');

/** Moves what was downloaded to the cache. Throws when it is not what was wanted, byte for byte. */
async function keep(scratch: string, folder: string, wanted: readonly Wanted[]): Promise<DebianPackage[]> {
  const packages: DebianPackage[] = [];
  for (const file of (await readdir(join(scratch, 'debs'))).toSorted()) {
    const source = join(scratch, 'debs', file);
    const [name, version] = (await runCommand('dpkg-deb', ['--show', `--showformat=${FORMAT}`, source])).split('\n');
    const want = wanted.find((one) => one.name === name);
    if (!want || !name || !version) throw wrong(`${file} is none of the packages asked for`);
    const sha256 = await fileDigest(source, 'sha256', 'hex');
    if (want.sha256 !== undefined && want.sha256 !== sha256)
      throw wrong(`${name}=${version} has SHA-256 ${sha256} instead of ${want.sha256}, as debian-packages.lock.json says`);
    await copyFile(source, join(folder, `${file}.partial`));
    await rename(join(folder, `${file}.partial`), join(folder, file));
    packages.push({ name, version, sha256, file });
  }
  const missing = wanted.filter(({ name }) => !packages.some((one) => one.name === name));
  if (missing.length > 0) throw wrong(`apt-get did not deliver ${missing.map(({ name }) => name).join(', ')}`);
  return packages;
}

const wrong = (message: string): FlotillaError => new FlotillaError('FLOTILLA_IMAGES_DEBIAN', message);

/** Where scanners look for packages of an image that has no package manager: a file each, in the form of dpkg's own list. */
const STATUS_FOLDER = 'var/lib/dpkg/status.d';

/** dpkg's record of a package, so that a scanner sees it. */
export async function packageRecord(place: PackagesPlace, one: DebianPackage): Promise<LayerFile> {
  const control = await runCommand('dpkg-deb', ['--field', join(packagesFolder(place), one.file)]);
  const bytes = `${control.trim()}\nStatus: install ok installed\n\n`;
  return { path: `${STATUS_FOLDER}/${one.name}`, content: { bytes } };
}

/** Files of one package that an image needs. */
const isWanted: Readonly<Record<PackageSet, (path: string) => boolean>> = {
  // No manuals, no translations, no character set converters.
  base: (path) =>
    path.startsWith('usr/share/doc/')
      ? path.endsWith('/copyright')
      : !/^usr\/(?:share\/(?!ca-certificates\/)|lib\/[^/]+\/gconv\/|sbin\/|bin\/)/.test(path),
  // The server and what it loads: no units, no tools.
  redis: (path) =>
    /^usr\/share\/doc\/.*\/copyright$|^(?:usr\/)?lib\/[^/]+\/lib[^/]+\.so[^/]*$|^usr\/bin\/redis-(?:server|check-rdb)$/.test(path),
};

/** Reads a package's files, without unpacking it to the disk. */
export async function debianFiles(place: PackagesPlace, one: DebianPackage): Promise<LayerFile[]> {
  const file = join(packagesFolder(place), one.file);
  await stat(file);
  const { output, done } = startCommand('dpkg-deb', ['--fsys-tarfile', file]);
  const files: LayerFile[] = [];
  for await (const { header, bytes } of tarEntries([output], (name) => isWanted[place.set](plainPath(name)))) {
    const path = plainPath(header.name);
    if (!isWanted[place.set](path)) continue;
    if (bytes) files.push({ path, mode: (header.mode ?? 0o644) & 0o7777, content: { bytes } });
    // Directories come back by themselves above the files in them.
    else if (header.type === 'symlink' && header.linkname) files.push({ path, content: { symlink: header.linkname } });
  }
  await done;
  return files;
}

const plainPath = (name: string): string => name.replace(/^\.\//, '').replace(/\/$/, '');
