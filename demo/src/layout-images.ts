import { errorMessage } from '@flotilla/api';
import { downloadImage, listImageParts, OciLayout, parseImageReference, RegistryClient } from '@flotilla/registry';
import { type ComponentImage, REGISTRY_NAME, type Started } from '../../tools/src/fleets/fleet.ts';

/** Where images are, and where they come from when they are not there. */
interface LayoutStartOptions {
  /** The node's OCI layout. */
  readonly storeDir: string;
  /** Registry as the node reaches it. */
  readonly mirror: string;
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/**
 * Stands for the start of a pod where there is no container runtime: reads every blob of the image in the layout, and checks its digest. A missing
 * image is downloaded first, as by a kubelet.
 */
export async function startFromLayout(images: readonly ComponentImage[], options: LayoutStartOptions): Promise<Started> {
  const limit = AbortSignal.any([AbortSignal.timeout(options.withinMs), options.signal]);
  const layout = await OciLayout.open(options.storeDir);
  await using client = registryBehind(options.mirror);
  const start = performance.now();
  const failures: Record<string, string> = {};
  await Promise.all(
    images.map(async (image) => {
      const reason = await bringUp(image, layout, client, limit).catch(errorMessage);
      if (reason) failures[image.name] = reason;
    }),
  );
  const up = images.length - Object.keys(failures).length;
  return { up, total: images.length, seconds: (performance.now() - start) / 1000, failures };
}

/** Brings one image into a layout, as a kubelet does before it starts a container; why it cannot be used, or undefined when it can. */
export async function placeInLayout(pullSpec: string, { storeDir, mirror, signal }: Omit<LayoutStartOptions, 'withinMs'>) {
  await using client = registryBehind(mirror);
  return await bringUp({ name: pullSpec, pullSpec }, await OciLayout.open(storeDir), client, signal);
}

const registryBehind = (mirror: string): RegistryClient =>
  new RegistryClient({ rules: [{ prefix: REGISTRY_NAME, mirrors: [{ location: mirror, scheme: 'http' }] }] });

/** Why the image cannot be used; undefined when it can. */
async function bringUp(
  { pullSpec }: ComponentImage,
  layout: OciLayout,
  client: RegistryClient,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!(await layout.findImage(pullSpec))) {
    const why = await downloadImage(parseImageReference(pullSpec), { client, layout, signal }).then(() => undefined, errorMessage);
    if (why !== undefined) return why;
  }
  const top = await layout.findImage(pullSpec);
  if (!top) return 'not in the store';
  const { manifests, blobs } = await listImageParts(layout, top);
  // readBlob verifies: a wrong digest throws.
  for (const { digest, size } of [...manifests, ...blobs]) await layout.readBlob(digest, size);
  return undefined;
}
