import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { FlotillaError } from '@flotilla/api';
import { runCommand } from '@flotilla/control-plane/processes';
import type { LayerFile } from '@flotilla/registry/testing';
import { z } from 'zod';
import { type Architecture, architectures } from './cache-folder.ts';
import { fileDigest } from './layer.ts';
import { tarEntries } from './tar-entries.ts';

const LockFile = z.object({
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional(), integrity: z.string().optional() })),
});

/** The Node of one architecture, as the repository's lock file pins it. */
interface NodeProgram {
  readonly version: string;
  /** The lock file's hash of the package, `sha512-…`. */
  readonly integrity: string;
  /** The package's tarball, verified against `integrity`. */
  readonly tarball: string;
}

/**
 * Fetches Node for an architecture from its npm package, once. The lock file says which version and which hash; npm
 * installs only the machine's own architecture, so the tarball is fetched for both alike.
 * Throws `FLOTILLA_IMAGES_NODE` when the lock has no such package or the bytes are not the locked ones.
 */
export async function nodeProgram(
  root: string,
  folder: string,
  architecture: Architecture,
  log: (message: string) => void,
): Promise<NodeProgram> {
  const name = `node-linux-${architectures[architecture].npm}`;
  const lock = LockFile.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')));
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (!version || !integrity?.startsWith('sha512-')) {
    throw new FlotillaError('FLOTILLA_IMAGES_NODE', `package-lock.json has no ${name} with a sha512 integrity: run npm install`);
  }
  const tarball = join(folder, 'node', `${name}-${version}.tgz`);
  if (!(await isLocked(tarball, integrity))) {
    log(`Downloading Node ${version} for ${architecture} (about 50 MB)`);
    await fetchPackage(root, `${name}@${version}`, tarball);
    if (!(await isLocked(tarball, integrity))) {
      await rm(tarball, { force: true });
      throw new FlotillaError('FLOTILLA_IMAGES_NODE', `${name}@${version} is not the package of package-lock.json (integrity differs)`);
    }
  }
  return { version, integrity, tarball };
}

const isLocked = async (tarball: string, integrity: string): Promise<boolean> =>
  (await fileDigest(tarball, 'sha512', 'base64').catch(() => '')) === integrity.slice('sha512-'.length);

async function fetchPackage(root: string, spec: string, tarball: string): Promise<void> {
  const scratch = `${tarball}.${process.pid}`;
  await mkdir(scratch, { recursive: true });
  try {
    // npm's own client, so that its registry, proxy and credentials settings hold; the repository as folder, for its .npmrc.
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', scratch, spec];
    const printed = await runCommand('npm', words, { cwd: root, timeoutMs: 300_000 });
    const [packed] = PackOutput.parse(JSON.parse(printed));
    await rename(join(scratch, packed.filename), tarball);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** npm prints a list of one; npm 12 an object by name. */
const PackOutput = z.preprocess(
  (value) => (Array.isArray(value) || typeof value !== 'object' || value === null ? value : Object.values(value)),
  z.tuple([z.looseObject({ filename: z.string() })]),
);

const wanted = new Map([
  ['package/bin/node', { path: 'usr/local/bin/node', mode: 0o755 }],
  ['package/LICENSE', { path: 'usr/share/doc/node/LICENSE', mode: 0o644 }],
]);

/** The program and its licence, nothing else of the package. */
export async function nodeFiles(program: NodeProgram, architecture: Architecture): Promise<LayerFile[]> {
  const files: LayerFile[] = [];
  let machine: number | undefined;
  for await (const { header, bytes } of tarEntries([createReadStream(program.tarball), createGunzip()], (name) => wanted.has(name))) {
    const as = wanted.get(header.name);
    if (!as || !bytes) continue;
    files.push({ ...as, content: { bytes } });
    // An ELF header says at byte 18 what machine the program is for.
    if (as.mode === 0o755 && bytes.length > 20) machine = bytes.readUInt16LE(18);
  }
  if (files.length !== wanted.size || machine !== architectures[architecture].elfMachine) {
    throw new FlotillaError('FLOTILLA_IMAGES_NODE', `${program.tarball} holds no bin/node for ${architecture} with its LICENSE`);
  }
  return files;
}
