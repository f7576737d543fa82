import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import type { LayerFile } from '@flotilla/registry';
import { z } from 'zod';
import type { Architecture } from './cache-folder.ts';
import { runCommand, startCommand } from './command.ts';
import { fileDigest, writeWhole } from './layer.ts';
import { tarEntries } from './tar-entries.ts';

/** What Node needs of Debian: the C and C++ libraries and the certificates; gcc-12-base carries their licence. */
const PACKAGES = ['ca-certificates', 'gcc-12-base', 'libc6', 'libgcc-s1', 'libstdc++6'];
const SUITE = 'bookworm';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const DebianPackage = z.object({ name: z.string(), version: z.string(), sha256: z.string(), file: z.string() });
/** One downloaded package. */
export type DebianPackage = z.output<typeof DebianPackage>;

/** Where packages come from and go to. */
export interface DebianOptions {
  /** Cache folder; packages are kept in `debian/<architecture>`. */
  readonly folder: string;
  readonly architecture: Architecture;
  /** Ask the mirror for newer versions although the cache has some; default false. */
  readonly refresh?: boolean;
  readonly log: (message: string) => void;
}

/**
 * The Debian packages of the base layer. The first call takes the newest ones of the stable suite, later calls the same
 * ones again until `refresh`. Signatures and hashes are apt's own check, with apt's state in a folder of ours: the machine's
 * package lists and architectures stay as they are, and no root is needed.
 */
export async function debianPackages(options: DebianOptions): Promise<DebianPackage[]> {
  const folder = join(options.folder, 'debian', options.architecture);
  const known = options.refresh ? undefined : await readIndex(folder);
  if (known) return known;

  options.log(`Downloading ${PACKAGES.length} Debian packages for ${options.architecture} (about 17 MB with the package list)`);
  await mkdir(folder, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), 'flotilla-apt-'));
  try {
    await download(scratch, options.architecture);
    const packages = await describe(scratch, folder);
    await writeWhole(join(folder, 'index.json'), JSON.stringify(packages, undefined, 2));
    return packages;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function readIndex(folder: string): Promise<DebianPackage[] | undefined> {
  const text = await readFile(join(folder, 'index.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const packages = z.array(DebianPackage).parse(JSON.parse(text));
  const sums = await Promise.all(packages.map((one) => fileDigest(join(folder, one.file), 'sha256', 'hex').catch(() => '')));
  return packages.every((one, index) => one.sha256 === sums[index]) ? packages : undefined;
}

async function download(scratch: string, architecture: Architecture): Promise<void> {
  for (const part of ['lists/partial', 'archives/partial', 'debs']) await mkdir(join(scratch, part), { recursive: true });
  await writeFile(join(scratch, 'status'), '');
  await writeFile(join(scratch, 'sources.list'), `deb [signed-by=${KEYRING}] ${await mirror()} ${SUITE} main\n`);
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
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  await runCommand('apt-get', [...flags, '-q', 'update']);
  await runCommand('apt-get', [...flags, '-q', 'download', ...PACKAGES], { cwd: join(scratch, 'debs') });
}

/** The machine's own Debian mirror where its sources name one, else Debian's. */
async function mirror(): Promise<string> {
  const sources = await readFile('/etc/apt/sources.list.d/debian.sources', 'utf8').catch(() => '');
  return /^URIs:\s*(https?:\/\/\S+\/debian)\/?\s*$/m.exec(sources)?.[1] ?? 'http://deb.debian.org/debian';
}

/** dpkg's own placeholders. */
const FORMAT = ['Package', 'Version'].map((field) => `\${${field}}`).join('\\n');

async function describe(scratch: string, folder: string): Promise<DebianPackage[]> {
  const packages: DebianPackage[] = [];
  for (const file of (await readdir(join(scratch, 'debs'))).toSorted()) {
    const source = join(scratch, 'debs', file);
    const [name, version] = (await runCommand('dpkg-deb', ['--show', `--showformat=${FORMAT}`, source])).split('\n');
    if (!name || !version) throw new FlotillaError('FLOTILLA_IMAGES_DEBIAN', `${file} names no package and version: delete ${folder}`);
    await copyFile(source, join(folder, `${file}.partial`));
    await rename(join(folder, `${file}.partial`), join(folder, file));
    packages.push({ name, version, sha256: await fileDigest(join(folder, file), 'sha256', 'hex'), file });
  }
  if (packages.length !== PACKAGES.length) {
    const got = packages.map((one) => one.name).join(', ');
    throw new FlotillaError('FLOTILLA_IMAGES_DEBIAN', `apt-get delivered ${got || 'nothing'} instead of ${PACKAGES.join(', ')}`);
  }
  return packages;
}

/** Files of one package that an image needs: no manuals, no translations, no character set converters. */
const isWanted = (path: string): boolean =>
  path.startsWith('usr/share/doc/')
    ? path.endsWith('/copyright')
    : !/^usr\/(?:share\/(?!ca-certificates\/)|lib\/[^/]+\/gconv\/|sbin\/|bin\/)/.test(path);

/** Reads a package's files, without unpacking it to the disk. */
export async function debianFiles(folder: string, architecture: Architecture, one: DebianPackage): Promise<LayerFile[]> {
  const file = join(folder, 'debian', architecture, one.file);
  await stat(file);
  const { output, done } = startCommand('dpkg-deb', ['--fsys-tarfile', file]);
  const files: LayerFile[] = [];
  for await (const { header, bytes } of tarEntries([output], (name) => isWanted(plainPath(name)))) {
    const path = plainPath(header.name);
    if (!isWanted(path)) continue;
    if (bytes) files.push({ path, mode: (header.mode ?? 0o644) & 0o7777, content: { bytes } });
    // Directories come back by themselves above the files in them.
    else if (header.type === 'symlink' && header.linkname) files.push({ path, content: { symlink: header.linkname } });
  }
  await done;
  return files;
}

const plainPath = (name: string): string => name.replace(/^\.\//, '').replace(/\/$/, '');
