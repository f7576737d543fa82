import type { RegistryClient } from './client.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { listImageParts } from './image-graph.ts';
import { formatImageReference, type ImageReference, parseImageReference } from './image-reference.ts';
import type { OciLayout } from './layout.ts';
import type { Descriptor } from './manifest.ts';
import { pushImage, putManifest } from './push.ts';

interface PublishOptions {
  readonly client: RegistryClient;
  readonly layout: OciLayout;
  /** `host[:port][/path]`; it takes the place of the host in the layout's names. */
  readonly prefix: string;
}

interface Published {
  readonly reference: ImageReference;
  readonly digest: string;
  /** Bytes that were sent; 0 when the registry had everything. */
  readonly bytes: number;
}

interface Publication {
  readonly image: Descriptor;
  readonly reference: ImageReference;
}

/**
 * Publishes every named image of a layout: all content first, tags at the end, so that no tag names something partial.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYOUT` naming what is missing and `FLOTILLA_REGISTRY_TAKEN` naming what differs, both
 * before anything is sent; `FLOTILLA_REGISTRY_PARTLY_TAGGED` naming the tags that are set; else the registry's refusal
 */
export async function publishLayout(options: PublishOptions): Promise<Published[]> {
  const { client, layout } = options;
  const publications = await listPublications(options);
  await refuseTaken(client, publications);
  const published: Published[] = [];
  for (const { image, reference } of publications) {
    const { tag: _, ...untagged } = reference;
    const mountFrom = published.map((each) => each.reference.repository);
    const { bytes } = await pushImage({ client, store: layout, image, reference: untagged, mountFrom });
    published.push({ reference, digest: image.digest, bytes });
  }
  await tagAll(options, publications);
  return published;
}

async function listPublications({ layout, prefix }: PublishOptions): Promise<Publication[]> {
  const images = await layout.images();
  const missing: string[] = [];
  const publications = images.map((image): Publication => {
    const name = image.annotations?.['org.opencontainers.image.ref.name'] ?? '';
    return { image, reference: parseImageReference(`${prefix}/${name.slice(name.indexOf('/') + 1)}`) };
  });
  for (const { image, reference } of publications) {
    const { repository, tag } = reference;
    for (const digest of await missingParts(layout, image)) missing.push(`${repository}:${tag} lacks ${digest}`);
  }
  if (publications.length === 0) missing.push('index.json names no image');
  if (missing.length === 0) return publications;
  throw new RegistryError(RegistryErrorCode.badLayout, `${layout.directory} is not whole: ${missing.join('; ')}; copy it again`);
}

/** Digests below an image that the layout lacks. */
async function missingParts(layout: OciLayout, image: Descriptor): Promise<string[]> {
  if (!(await layout.has(image.digest))) return [image.digest];
  const { blobs, absent } = await listImageParts(layout, image);
  const there = await Promise.all(blobs.map(({ digest }) => layout.has(digest)));
  return [...absent, ...blobs.filter((_, index) => !there[index])].map(({ digest }) => digest);
}

async function refuseTaken(client: RegistryClient, publications: readonly Publication[]): Promise<void> {
  const taken: string[] = [];
  for (const { image, reference } of publications) {
    const found = await client.headManifest(reference);
    if (found !== undefined && found !== image.digest) taken.push(`${formatImageReference(reference)} is ${found}, not ${image.digest}`);
  }
  if (taken.length === 0) return;
  throw new RegistryError(
    RegistryErrorCode.taken,
    `nothing was published, because the registry has other content of this version: ${taken.join('; ')}; take another version or path`,
  );
}

async function tagAll({ client, layout }: PublishOptions, publications: readonly Publication[]): Promise<void> {
  const tagged: string[] = [];
  for (const { image, reference } of publications) {
    const name = formatImageReference(reference);
    try {
      await putManifest(image, reference.tag ?? image.digest, { client, store: layout, image, reference });
      tagged.push(name);
    } catch (cause) {
      if (tagged.length === 0) throw cause;
      const text = `${name} was refused after ${tagged.join(', ')}; run the same command again to complete it`;
      throw new RegistryError(RegistryErrorCode.partlyTagged, text, { image: name, host: reference.host, cause });
    }
  }
}
