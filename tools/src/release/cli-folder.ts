import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LayerFile } from '@flotilla/registry/testing';
import { type Architecture, architectureNames, imagesCacheFolder } from '../images/cache-folder.ts';
import { nodeFiles, nodeProgram } from '../images/node-program.ts';
import { billOf, nodeComponent, type npmComponents } from '../images/sbom.ts';
import { archive } from './archive.ts';
import type { FetchedFolder } from './package-manifests.ts';
import type { ReleaseSource } from './source.ts';

/** Parts of each folder. */
interface FolderOptions {
  readonly root: string;
  readonly source: ReleaseSource;
  /** Files that every folder has. */
  readonly files: readonly LayerFile[];
  readonly npm: ReturnType<typeof npmComponents>;
  readonly log: (message: string) => void;
}

/** A packed folder. */
interface PackedFolder extends Omit<FetchedFolder, 'sha256'> {
  readonly bytes: Buffer;
}

/**
 * The command line as folders that a launcher starts: one for each architecture of Linux with its Node, and one for macOS without.
 * macOS runs no Node whose signature a change has broken, so a publisher adds it whole.
 */
export async function* cliFolders(options: FolderOptions): AsyncGenerator<PackedFolder> {
  const launcher = await readFile(join(import.meta.dirname, 'launcher.sh'));
  const starters: LayerFile[] = [
    { path: 'flotilla', mode: 0o755, content: { bytes: launcher } },
    // No link to it: krew takes no archive that has one.
    { path: 'kubectl-flotilla', mode: 0o755, content: { bytes: launcher } },
  ];
  for (const architecture of architectureNames) {
    const packed = await packFolder(`linux-${architecture}`, options, [...starters, ...(await linuxNode(architecture, options))]);
    yield { ...packed, os: 'linux', architectures: [architecture] };
  }
  const packed = await packFolder('darwin', options, [...starters, text('bom.cdx.json', bill(options))]);
  yield { ...packed, os: 'darwin', architectures: architectureNames };
}

/** Node with its licence, and a bill of materials that names it. */
async function linuxNode(architecture: Architecture, options: FolderOptions): Promise<LayerFile[]> {
  const program = await nodeProgram(options.root, imagesCacheFolder(), architecture, options.log);
  const files = await nodeFiles(program, architecture);
  const renamed = files.map((file) => ({ ...file, path: file.mode === 0o755 ? 'node' : 'LICENSE-node' }));
  return [...renamed, text('bom.cdx.json', bill(options, [nodeComponent(program.version)]))];
}

const bill = ({ source: { version }, npm }: FolderOptions, more: ReturnType<typeof npmComponents> = []): string =>
  `${JSON.stringify(billOf({ name: 'cli', version }, [...npm, ...more]), undefined, 2)}\n`;

const text = (path: string, bytes: string): LayerFile => ({ path, content: { bytes } });

async function packFolder(
  platform: string,
  { source, files }: FolderOptions,
  more: readonly LayerFile[],
): Promise<Pick<PackedFolder, 'archive' | 'bytes'>> {
  const folder = `flotilla-${source.version}-${platform}`;
  const all = [...files, ...more].map((file) => ({ ...file, path: `${folder}/${file.path}` }));
  return { archive: `${folder}.tar.gz`, bytes: await archive(all, source.committedAt) };
}
