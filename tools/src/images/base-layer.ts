import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import type { LayerFile } from '@flotilla/registry/testing';
import { type DebianOptions, type DebianPackage, debianFiles, debianPackages, packageRecord } from './debian-packages.ts';
import { type CachedLayer, cachedLayer } from './layer.ts';
import { nodeFiles, nodeProgram } from './node-program.ts';

/** Bump when what this file puts into a layer changes. */
const RECIPE = 3;

/** A layer that images share, and Debian's part of it. */
export interface DebianLayer {
  readonly layer: CachedLayer;
  /** Sorted by name. */
  readonly debianPackages: readonly DebianPackage[];
}

/** The layer all images share, and what went into it. */
export interface BaseLayer extends DebianLayer {
  readonly nodeVersion: string;
}

/** What the base layer is made from. */
interface BaseOptions extends Omit<DebianOptions, 'set'> {
  /** The repository, for its lock file. */
  readonly root: string;
}

/** Node, the C libraries, certificates and the few files of `/etc` a program looks for. One blob per architecture. */
export async function baseLayer(options: BaseOptions): Promise<BaseLayer> {
  const node = await nodeProgram(options.root, options.folder, options.architecture, options.log);
  const made = await debianLayer({ ...options, set: 'base' }, node.integrity, async (files) => [
    ...systemFiles(),
    ...(await nodeFiles(node, options.architecture)),
    ...files,
    certificateBundle(files),
  ]);
  return { ...made, nodeVersion: node.version };
}

/** The queue server that the hub starts when it is given none: 4 MB more for its image. */
export const redisLayer = (options: Omit<DebianOptions, 'set'>): Promise<DebianLayer> =>
  debianLayer({ ...options, set: 'redis' }, '', async (files) => files);

async function debianLayer(
  options: DebianOptions,
  more: string,
  complete: (files: LayerFile[]) => Promise<LayerFile[]>,
): Promise<DebianLayer> {
  const { folder, set, architecture } = options;
  const packages = await debianPackages(options);
  const key = JSON.stringify([RECIPE, set, architecture, more, packages.map((one) => [one.name, one.version, one.sha256])]);
  const layer = await cachedLayer(join(folder, 'layers'), key, async () => {
    options.log(`Writing the ${set} layer for ${architecture}${set === 'base' ? ' (about 10 s)' : ''}`);
    const files: LayerFile[] = [];
    for (const one of packages) files.push(...(await debianFiles(options, one)), await packageRecord(options, one));
    return complete(files);
  });
  return { layer, debianPackages: packages.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** User and group of programs that need no root. */
export const NON_ROOT = '65532:65532';

const text = (path: string, content: string): LayerFile => ({ path, content: { bytes: content } });
const folder = (path: string, mode: number): LayerFile => ({ path, mode, content: 'directory' });

const systemFiles = (): LayerFile[] => [
  text('etc/passwd', 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n'),
  text('etc/group', 'root:x:0:\nnonroot:x:65532:\n'),
  text('etc/hosts', '127.0.0.1 localhost\n::1 localhost\n'),
  text('etc/nsswitch.conf', 'hosts: files dns\n'),
  // Debian's, as its packages are: a scanner takes the advisories of what it reads here.
  text(
    'etc/os-release',
    'PRETTY_NAME="Flotilla on Debian 12"\nNAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
  ),
  folder('tmp', 0o1777),
  folder('root', 0o700),
  // Open to all, as the numeric user may be replaced by the pod's (runAsUser) and owners in a layer are root.
  folder('home/nonroot', 0o1777),
];

/** What Debian's update-ca-certificates would write after installing the package. */
function certificateBundle(files: readonly LayerFile[]): LayerFile {
  const certificates = files
    .filter(({ path }) => path.startsWith('usr/share/ca-certificates/') && path.endsWith('.crt'))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ content }) => (typeof content === 'object' && 'bytes' in content ? `${content.bytes.toString().trim()}\n` : ''));
  if (certificates.length === 0) throw new FlotillaError('FLOTILLA_IMAGES_DEBIAN', 'the ca-certificates package holds no certificates');
  return text('etc/ssl/certs/ca-certificates.crt', certificates.join(''));
}
