import type { Release } from '@flotilla/api/config';

/** Digest of a pull spec; undefined for one by tag. */
function digestOf(image: string): string | undefined {
  const at = image.lastIndexOf('@');
  return at < 0 ? undefined : image.slice(at + 1);
}

/** True for two pull specs of one image. */
export const isSameImage = (a: string, b: string): boolean => a === b || (digestOf(a) !== undefined && digestOf(a) === digestOf(b));

interface ReleaseVisibility {
  /** Feature gates that are on: the architecture is shown under `ImageStreamImportMode` alone. */
  readonly featureGates: ReadonlySet<string>;
}

/**
 * A release as its payload describes it, with what only update graphs tell.
 * @param known descriptions of releases by update graphs, that of the current one first
 */
export function describeRelease(release: Release, known: readonly Release[], { featureGates }: ReleaseVisibility): Release {
  const other = release.image === '' ? undefined : known.find(({ image }) => isSameImage(image, release.image));
  const url = release.url || other?.url;
  const architecture = featureGates.has('ImageStreamImportMode') ? release.architecture || other?.architecture : undefined;
  const channels = release.channels?.length ? release.channels : other?.channels;
  return {
    version: release.version || (other?.version ?? ''),
    image: release.image,
    ...(url && { url }),
    ...(architecture && { architecture }),
    ...(channels?.length && { channels: [...channels] }),
  };
}
