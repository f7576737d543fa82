import { parseImageReference, pushImage, type RegistryClient } from '@flotilla/registry';
import { type AppName, appNames } from './apps.ts';
import type { BuiltImages } from './build-images.ts';

/** Where images go. */
interface PushTarget {
  readonly client: RegistryClient;
  /** `host[:port]/path`; the program's name is appended. */
  readonly prefix: string;
  readonly tag: string;
}

/** One image in a registry. */
interface PushedImage {
  readonly app: AppName;
  /** `prefix/app@sha256:…` */
  readonly pullSpec: string;
  /** Bytes that were sent; 0 when the registry had it all. */
  readonly bytes: number;
}

/**
 * Pushes built images, one after the other so that the layer they share is sent once and mounted for the rest.
 * Throws the registry's refusal as RegistryError.
 */
export async function pushImages({ layout, images }: BuiltImages, { client, prefix, tag }: PushTarget): Promise<PushedImage[]> {
  const pushed: PushedImage[] = [];
  const mountFrom: string[] = [];
  for (const app of appNames) {
    const image = images[app];
    if (!image) continue;
    const reference = parseImageReference(`${prefix}/${app}:${tag}`);
    const { bytes } = await pushImage({ client, store: layout, image: image.descriptor, reference, mountFrom });
    mountFrom.push(reference.repository);
    pushed.push({ app, pullSpec: `${prefix}/${app}@${image.digest}`, bytes });
  }
  return pushed;
}
