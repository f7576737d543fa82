import { RegistryError, RegistryErrorCode, type RegistryErrorDetails } from './errors.ts';
import { type Descriptor, type ImageIndex, isImageType } from './manifest.ts';
import { type Platform, platformRank } from './platform.ts';

/** Entries without a platform that are read at most, each for one or two requests. */
const MOST_UNNAMED = 64;

/** Entries of an index in the order in which a runtime tries them. */
interface Choices {
  /** The best entry that names a platform which runs. */
  readonly best: Descriptor | undefined;
  /** Entries without a platform: their own configuration has it. */
  readonly unnamed: readonly Descriptor[];
}

/** Orders the entries of an index as containerd does: the best platform first, whatever their order. Attestations never match. */
export function chooseEntries({ manifests }: ImageIndex, wanted: Platform): Choices {
  const ranked = manifests.flatMap((entry) => {
    const rank = entry.platform && platformRank(wanted, entry.platform);
    return rank === undefined ? [] : [{ entry, rank }];
  });
  const best = ranked.toSorted((a, b) => a.rank - b.rank)[0]?.entry;
  const unnamed = manifests.filter(({ platform, mediaType }) => platform === undefined && (mediaType === '' || isImageType(mediaType)));
  return { best, unnamed: unnamed.slice(0, MOST_UNNAMED) };
}

/** Builds the error of an image that is not for the platform, with the platforms that it has; undefined for one that says none. */
export function noPlatformError(has: readonly (Platform | undefined)[], wanted: Platform, details: RegistryErrorDetails): RegistryError {
  const offered = has.slice(0, 20).map((platform) => (platform ? platformName(platform) : 'an entry without a platform'));
  const problem = `has no image for ${platformName(wanted)}; it has ${offered.join(', ') || 'none that can be read'}`;
  return new RegistryError(RegistryErrorCode.noPlatform, `${details.image} ${problem}`, details);
}

const platformName = ({ os, architecture, variant }: Platform): string => [os, architecture, variant].filter(Boolean).join('/') || 'none';
