import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { OciLayout, parseImageReference, pushImage, type RegistryClient } from '@flotilla/registry';
import { pushFiles, writeImage, writeLayer } from '@flotilla/registry/testing';
import { releaseTexts } from '@flotilla/release/testing';
import { bundleApp } from '../../../tools/src/images/app-bundle.ts';
import { baseLayer, NON_ROOT } from '../../../tools/src/images/base-layer.ts';
import { hostArchitecture, imagesCacheFolder } from '../../../tools/src/images/cache-folder.ts';
import { placeLayer } from '../../../tools/src/images/layer.ts';
import { payloadImages } from '../release-fixture/payload-images.ts';
import { seededBytes } from '../release-fixture/seeded-bytes.ts';
import { serveProgram } from '../release-fixture/serve-program.ts';
import { EDGE_OPERATORS, edgeManifests, OPERATOR_IMAGE } from './edge-manifests.ts';
import type { ReleaseSigner } from './release-signer.ts';

/** A release that a cluster can be run from. */
export interface EdgeRelease {
  readonly version: string;
  /** Release image, by digest. */
  readonly pullSpec: string;
  readonly digest: string;
  /** Pull specs of its images by name: the operators' one, and the workloads'. */
  readonly images: Readonly<Record<string, string>>;
  /** Who makes releases vouches for it: what a signature store would answer. */
  readonly signature: Uint8Array;
}

/** Where releases are pushed, and as what they are known. */
interface EdgeReleaseOptions {
  readonly client: RegistryClient;
  /** `host:port` that is pushed to. */
  readonly pushHost: string;
  /** Host of every pull spec. */
  readonly registryName: string;
  /** Folder for a layout. */
  readonly dir: string;
  readonly signer: ReleaseSigner;
  /** Bytes that are a workload's image own, per version; default 8 MB. */
  readonly workloadBytes?: number;
  readonly say?: (line: string) => void;
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const ENTRY = 'test/support/managed/edge-operator/main.ts';
const IMAGES = 'edge/images';
const RELEASES = 'edge/releases';
/** Of the operators' image, per version, beside Node and the program. */
const OPERATOR_BYTES = 2_000_000;

/**
 * Pushes a release: an image with manifests of operators, the operators' image (Node and a program of this repository), and an image for
 * each workload. Every version has images of its own.
 */
export async function pushEdgeRelease(version: string, options: EdgeReleaseOptions): Promise<EdgeRelease> {
  const images = { [OPERATOR_IMAGE]: await pushOperator(version, options), ...(await pushWorkloads(version, options)) };
  const files = releaseTexts(edgeManifests({ version, images, publicKey: options.signer.publicKey }));
  const { client, pushHost, registryName } = options;
  const digest = await pushFiles(client, `${pushHost}/${RELEASES}:${version}`, files, { labels: { 'io.openshift.release': version } });
  const pullSpec = `${registryName}/${RELEASES}@${digest}`;
  return { version, pullSpec, digest, images, signature: await options.signer.sign(digest) };
}

type Pushed = Pick<Parameters<typeof pushImage>[0], 'store' | 'image'> & { readonly repository: string; readonly tag: string };

async function push({ store, image, repository, tag }: Pushed, { client, pushHost, registryName }: EdgeReleaseOptions): Promise<string> {
  const reference = parseImageReference(`${pushHost}/${repository}:${tag}`);
  await pushImage({ client, store, image, reference, mountFrom: [...new Set([IMAGES, 'flotilla/spoke-agent'])] });
  return `${registryName}/${repository}@${image.digest}`;
}

/** The base is that of our programs: a node that runs one of them has it. */
async function pushOperator(version: string, options: EdgeReleaseOptions): Promise<string> {
  const layout = await OciLayout.open(join(options.dir, 'edge-operator'));
  const log = options.say ?? (() => undefined);
  const base = await baseLayer({ root: ROOT, folder: imagesCacheFolder(), architecture: hostArchitecture(), superseded: 'newest', log });
  await placeLayer(layout, base.layer);
  const { files } = await bundleApp(ROOT, { entry: ENTRY, user: NON_ROOT, description: 'An operator of an edge release' });
  const program = await writeLayer(layout, { content: { files }, compression: 'gzip' });
  const own = { path: 'usr/share/edge/release.bin', content: { bytes: seededBytes(`edge-operator ${version}`, OPERATOR_BYTES) } };
  const image = await writeImage(layout, {
    platform: { os: 'linux', architecture: hostArchitecture() },
    layers: [base.layer, program, { content: { files: [own] }, compression: 'gzip', level: 0 }],
    config: {
      User: NON_ROOT,
      WorkingDir: '/app',
      Entrypoint: ['/usr/local/bin/node', '--max-semi-space-size=1', '--optimize-for-size', '/app/main.mjs'],
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_ENV=production'],
    },
  });
  return push({ store: layout, image, repository: IMAGES, tag: `operator-${version}` }, options);
}

async function pushWorkloads(version: string, options: EdgeReleaseOptions): Promise<Record<string, string>> {
  const { workloadBytes = 8_000_000 } = options;
  const cacheFolder = join(readEnvironment().cacheDir, 'release-fixture');
  const components = EDGE_OPERATORS.map((name) => ({ name, shared: ['base'] as const, ownBytes: workloadBytes }));
  const plan = { sharedBytes: { base: 1_000_000, runtime: 16_384 }, components, operatorImages: [] };
  const made = await payloadImages(cacheFolder, plan, `edge ${version}`, await serveProgram(cacheFolder));
  const pushed: Record<string, string> = {};
  for (const { name, descriptor } of made.components)
    pushed[name] = await push({ store: made.layout, image: descriptor, repository: IMAGES, tag: `${name}-${version}` }, options);
  return pushed;
}
