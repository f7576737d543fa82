import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { stringify } from 'yaml';
import { appNames } from '../images/apps.ts';
import { type BuiltImages, buildImages } from '../images/build-images.ts';
import { fileDigest } from '../images/layer.ts';
import { addChart, type PackagedChart, packageCharts } from './charts.ts';
import { packageCli } from './cli-package.ts';
import { checksums, filesBelow, provenance } from './provenance.ts';
import type { ReleaseSource } from './source.ts';

/** What a release is made of. */
interface ReleaseOptions {
  readonly root: string;
  /** Folder of the release; it must be empty or not be there. */
  readonly output: string;
  readonly source: ReleaseSource;
  /** Registry and path where the images will be; empty: unknown. */
  readonly registry: string;
  /** Makes signatures of the list of files; default: none. */
  readonly sign?: (file: string) => Promise<void>;
  readonly log: (message: string) => void;
}

/** Host of images in a layout for which no registry is known. */
const NO_REGISTRY = 'flotilla.local';
/** Files that name everything that comes from elsewhere. */
const LOCKS = ['package-lock.json', 'tools/src/images/debian-packages.lock.json'];

/** Makes a release. The folder appears whole or not at all. Throws `FLOTILLA_RELEASE_EXISTS` for a folder that has something in it. */
export async function buildRelease(options: ReleaseOptions): Promise<void> {
  const output = resolve(options.output);
  await refuseContent(output);
  await mkdir(dirname(output), { recursive: true });
  // Beside it, because a rename stays within one file system.
  const partial = await mkdtemp(join(dirname(output), '.release-'));
  try {
    await fill(partial, options);
    await rename(partial, output);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Throws `FLOTILLA_RELEASE_EXISTS` for a folder that has something in it. */
export async function refuseContent(output: string): Promise<void> {
  const found = await readdir(output).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new FlotillaError('FLOTILLA_RELEASE_EXISTS', `--out ${output} is no folder: name one that is not there`, { cause: error });
  });
  if (found.length > 0)
    throw new FlotillaError('FLOTILLA_RELEASE_EXISTS', `--out ${output} holds ${found[0]}: name a folder that is not there`);
}

async function fill(folder: string, options: ReleaseOptions): Promise<void> {
  const { root, source, registry, log } = options;
  const tools = await ensureTools(['helm'], { log });
  const helm = tools.path('helm');
  log('Building the images');
  const built = await buildImages({ output: join(folder, 'images'), build: source, prefix: NO_REGISTRY, log });
  await rename(join(folder, 'images', 'boms'), join(folder, 'boms'));
  await rename(join(folder, 'images', 'licences'), join(folder, 'licences'));
  log('Packaging charts and command line');
  const digests = Object.fromEntries(appNames.map((app) => [app, built.images[app]?.digest]));
  const charts = await packageCharts({ root, output: join(folder, 'charts'), helm, source, digests, registry });
  for (const chart of charts)
    await addChart(built.layout, chart, { helm, source, reference: `${NO_REGISTRY}/charts/${chart.name}:${source.version}` });
  await packageCli({ root, output: folder, source, spokeChart: fileOf(charts, 'flotilla-spoke'), log });
  await writeLists(folder, built, options);
  // Empty by now; a reader needs none.
  await rm(join(folder, 'images', 'ingest'), { recursive: true });
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeStatement(folder, options);
}

function fileOf(charts: readonly PackagedChart[], name: string): string {
  const found = charts.find((chart) => chart.name === name);
  if (!found) throw new FlotillaError('FLOTILLA_RELEASE_CHART', `no chart is called ${name}`);
  return found.file;
}

async function writeLists(folder: string, built: BuiltImages, { registry, source }: ReleaseOptions): Promise<void> {
  const images = appNames.map((app) => ({
    name: `${registry || NO_REGISTRY}/${app}:${source.version}`,
    digest: built.images[app]?.digest ?? '',
  }));
  await writeFile(join(folder, 'images.txt'), imageList(images));
  await writeFile(join(folder, 'image-set-configuration.yaml'), imageSetConfiguration(images));
}

async function writeStatement(folder: string, { root, source, registry, sign }: ReleaseOptions): Promise<void> {
  const locks = LOCKS.map(async (path) => ({ path, sha256: await fileDigest(join(root, path), 'sha256', 'hex') }));
  const statement = provenance(source, await filesBelow(folder), await Promise.all(locks), { registry });
  await writeFile(join(folder, 'provenance.intoto.json'), `${JSON.stringify(statement, undefined, 2)}\n`);
  const list = join(folder, 'SHA256SUMS');
  await writeFile(list, checksums(await filesBelow(folder)));
  await sign?.(list);
}

/** One image by name and digest. */
interface ListedImage {
  /** `host/path/name:tag` */
  readonly name: string;
  readonly digest: string;
}

/** `images.txt`: a pull spec a line. */
const imageList = (images: readonly ListedImage[]): string => images.map((image) => `${pullSpec(image)}\n`).join('');

/** Images that `oc mirror --v2` copies. */
const imageSetConfiguration = (images: readonly ListedImage[]): string =>
  stringify(
    {
      apiVersion: 'mirror.openshift.io/v2alpha1',
      kind: 'ImageSetConfiguration',
      mirror: { additionalImages: images.map((image) => ({ name: pullSpec(image) })) },
    },
    { lineWidth: 0 },
  );

const pullSpec = ({ name, digest }: ListedImage): string => `${name}@${digest}`;
