import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Descriptor, OciLayout } from '@flotilla/registry';
import { type LayerFile, writeImage, writeIndex } from '@flotilla/registry/testing';
import { type Build, readBuild } from '@flotilla/runtime';
import { packConsolePage } from '../console-page/build.ts';
import { bundleApp, licenceTexts } from './app-bundle.ts';
import { type AppImage, type AppName, appImages, appNames } from './apps.ts';
import { type BaseLayer, baseLayer, type DebianLayer, redisLayer } from './base-layer.ts';
import { type Architecture, architectureNames, imagesCacheFolder } from './cache-folder.ts';
import type { DebianOptions, DebianPackage } from './debian-packages.ts';
import { type CachedLayer, cachedLayer, placeLayer } from './layer.ts';
import { nodeFlagsOf } from './node-flags.ts';
import { billOf, debianComponents, nodeComponent, npmComponents } from './sbom.ts';

/** What to build and where to. */
interface BuildImagesOptions {
  /** Folder of the OCI layout; made when it is not there. One process at a time may write to it. */
  readonly output: string;
  /** Default: all. */
  readonly apps?: readonly AppName[];
  /** Default: amd64 and arm64. */
  readonly architectures?: readonly Architecture[];
  /** Registry and path before the program's name, as the layout names its images; default `flotilla.local`. */
  readonly prefix?: string;
  /** Default: the version. */
  readonly tag?: string;
  /** What programs and labels say of themselves; default: the version of the repository and its commit. */
  readonly build?: Build;
  /** What to do when Debian's archive has newer packages than the committed list; see DebianOptions. Default `refuse`. */
  readonly superseded?: DebianOptions['superseded'];
  /** Default: see imagesCacheFolder. */
  readonly cacheFolder?: string;
  /** Told what takes long, a line each; default: nobody. */
  readonly log?: (message: string) => void;
}

/** One image in the layout: an index of one image per architecture. */
interface BuiltImage {
  /** `prefix/app:tag`, its name in the layout. */
  readonly name: string;
  readonly digest: string;
  readonly descriptor: Descriptor;
  /** By architecture: the image's manifest and all its compressed bytes. */
  readonly platforms: Readonly<Partial<Record<Architecture, { readonly digest: string; readonly bytes: number }>>>;
  /** By architecture: the file with its bill of materials. */
  readonly boms: Readonly<Partial<Record<Architecture, string>>>;
}

/** Everything a build made. */
export interface BuiltImages {
  readonly layout: OciLayout;
  readonly images: Readonly<Partial<Record<AppName, BuiltImage>>>;
  readonly bases: Readonly<Partial<Record<Architecture, BaseLayer>>>;
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Brings into the cache what takes a build its time: the layers of Node and of Debian's packages. */
export async function prepareBase(architecture: Architecture, log: (message: string) => void): Promise<void> {
  const options = { root: ROOT, folder: imagesCacheFolder(), architecture, superseded: 'newest', log } as const;
  await baseLayer(options);
  await redisLayer(options);
}

/**
 * Builds the images of the programs into an OCI layout, without a container engine: about 30 s an architecture the first
 * time, 2 s from the cache. The same commit and Debian packages give the same digests on every machine.
 * Throws `FLOTILLA_IMAGES_*` naming what is missing.
 */
export async function buildImages(options: BuildImagesOptions): Promise<BuiltImages> {
  const { output, apps = appNames, log = () => undefined } = options;
  const folder = options.cacheFolder ?? imagesCacheFolder();
  const wanted = options.architectures ?? architectureNames;
  const build = options.build ?? readBuild();
  const { version } = build;
  const layout = await OciLayout.open(output);
  const lock = await readFile(join(ROOT, 'package-lock.json'), 'utf8');

  const bases: Partial<Record<Architecture, BaseLayer>> = {};
  const redis: Partial<Record<Architecture, DebianLayer>> = {};
  for (const architecture of wanted) {
    const parts = { root: ROOT, folder, architecture, superseded: options.superseded, log };
    bases[architecture] = await baseLayer(parts);
    await placeLayer(layout, bases[architecture].layer);
    if (!apps.some(hasRedis)) continue;
    redis[architecture] = await redisLayer(parts);
    await placeLayer(layout, redis[architecture].layer);
  }

  const images: Partial<Record<AppName, BuiltImage>> = {};
  for (const app of apps) {
    const { files, packageFolders } = await bundle(app, build);
    const npm = npmComponents(packageFolders, lock);
    const bill = { path: 'app/bom.cdx.json', content: { bytes: JSON.stringify(billOf({ name: app, version }, npm)) } };
    const licences = { path: 'app/licences.txt', content: { bytes: await licenceTexts(ROOT, packageFolders) } };
    await mkdir(join(output, 'licences'), { recursive: true });
    await writeFile(join(output, 'licences', `${app}.txt`), licences.content.bytes);
    const layer = await appLayer(folder, [...files, bill, licences]);
    await placeLayer(layout, layer);
    const foundations = wanted.flatMap((architecture): Foundation[] => {
      const base = bases[architecture];
      if (!base) return [];
      const below = [base, ...(hasRedis(app) && redis[architecture] ? [redis[architecture]] : [])];
      const debianPackages = below.flatMap((each) => each.debianPackages);
      return [{ architecture, nodeVersion: base.nodeVersion, layers: below.map((each) => each.layer), debianPackages }];
    });
    const platforms = foundations.map((foundation) => buildOne(layout, { app, foundation, layer, build }));
    const name = `${options.prefix ?? 'flotilla.local'}/${app}:${options.tag ?? version}`;
    const boms: BuiltImage['boms'] = await writeBoms(join(output, 'boms'), { app, version, npm, foundations });
    images[app] = { ...(await nameImage(layout, name, await Promise.all(platforms))), boms };
  }
  return { layout, images, bases };
}

/** What lies below a program's own layer on one architecture. */
interface Foundation {
  readonly architecture: Architecture;
  readonly layers: readonly CachedLayer[];
  readonly nodeVersion: string;
  readonly debianPackages: readonly DebianPackage[];
}

/** A program's files, with the page of the console where it serves that. */
async function bundle(app: AppName, build: Build): Promise<Awaited<ReturnType<typeof bundleApp>>> {
  const image: AppImage = appImages[app];
  if (!image.hasPage) return bundleApp(ROOT, image, build);
  const { constants, packageFolders } = await packConsolePage();
  const { files, packageFolders: own } = await bundleApp(ROOT, { ...image, constants }, build);
  return { files, packageFolders: [...new Set([...own, ...packageFolders])].toSorted() };
}

function hasRedis(app: AppName): boolean {
  const { hasRedis = false }: AppImage = appImages[app];
  return hasRedis;
}

/** What the files beside the images are made from. */
interface BomParts {
  readonly app: AppName;
  readonly version: string;
  readonly npm: ReturnType<typeof npmComponents>;
  readonly foundations: readonly Foundation[];
}

/** A bill of materials per architecture: the program's packages, Node and what is Debian's. */
async function writeBoms(folder: string, { app, version, npm, foundations }: BomParts): Promise<Partial<Record<Architecture, string>>> {
  await mkdir(folder, { recursive: true });
  const boms: Partial<Record<Architecture, string>> = {};
  for (const { architecture, nodeVersion, debianPackages } of foundations) {
    const parts = [...npm, nodeComponent(nodeVersion), ...debianComponents(debianPackages, architecture)];
    const file = join(folder, `${app}-${architecture}.cdx.json`);
    await writeFile(file, `${JSON.stringify(billOf({ name: app, version }, parts), undefined, 2)}\n`);
    boms[architecture] = file;
  }
  return boms;
}

/** The layer of one program: the same for every architecture, as nothing in it is machine code. */
function appLayer(folder: string, files: readonly LayerFile[]): Promise<CachedLayer> {
  const key = createHash('sha256');
  for (const { path, content } of files) {
    if (typeof content === 'object' && 'bytes' in content) key.update(`${path} ${content.bytes.length}\n`).update(content.bytes);
  }
  return cachedLayer(join(folder, 'layers'), `app ${key.digest('hex')}`, async () => files);
}

interface ImageParts {
  readonly app: AppName;
  readonly foundation: Foundation;
  readonly layer: CachedLayer;
  readonly build: Build;
}

interface PlatformImage {
  readonly architecture: string;
  readonly descriptor: Descriptor;
  readonly bytes: number;
}

async function buildOne(layout: OciLayout, { app, foundation, layer, build }: ImageParts): Promise<PlatformImage> {
  const { architecture, nodeVersion, debianPackages } = foundation;
  const layers = [...foundation.layers, layer];
  const { user, description }: AppImage = appImages[app];
  const descriptor = await writeImage(layout, {
    platform: { os: 'linux', architecture },
    layers: layers.map(({ descriptor, diffId }) => ({ descriptor, diffId })),
    config: {
      User: user,
      WorkingDir: '/app',
      Entrypoint: ['/usr/local/bin/node', ...nodeFlagsOf(app), '/app/main.mjs'],
      Env: [
        'PATH=/usr/local/bin:/usr/bin:/bin',
        'NODE_ENV=production',
        'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
        // Without it Node trusts its built-in certificates alone, whatever is mounted at the path above.
        'NODE_USE_SYSTEM_CA=1',
      ],
      Labels: {
        'org.opencontainers.image.title': `flotilla-${app}`,
        'org.opencontainers.image.description': description,
        'org.opencontainers.image.version': build.version,
        'org.opencontainers.image.revision': build.commit,
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'flotilla.io/node': nodeVersion,
        'flotilla.io/debian-packages': debianPackages.map(({ name, version }) => `${name}=${version}`).join(' '),
      },
    },
  });
  return { architecture, descriptor, bytes: layers.reduce((sum, { descriptor: { size } }) => sum + size, 0) };
}

async function nameImage(layout: OciLayout, name: string, built: readonly PlatformImage[]): Promise<Omit<BuiltImage, 'boms'>> {
  const descriptor = await writeIndex(
    layout,
    built.map((one) => one.descriptor),
  );
  await layout.addImage(descriptor, name);
  const platforms = Object.fromEntries(built.map(({ architecture, descriptor: { digest }, bytes }) => [architecture, { digest, bytes }]));
  return { name, digest: descriptor.digest, descriptor, platforms };
}
