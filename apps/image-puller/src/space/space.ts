import { NoSpaceError } from '../errors.ts';

/** The file system that holds a store. */
export interface StoreUsage {
  /** Where it was measured, for messages. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** What may still be written: less than size minus used where blocks are reserved or a quota holds. */
  readonly availableBytes: number;
}

/** What the images of the list come to. */
interface SpaceDemand {
  /** Compressed bytes of the layers that are not in the store, each once. */
  readonly missingBytes: number;
  /** Compressed bytes of the layers that are. */
  readonly cachedBytes: number;
  /** What one compressed byte takes in the store. */
  readonly expansion: number;
  /** `spaceRequired`: what the whole pre-cache may take. */
  readonly spaceRequiredGiB: number | undefined;
}

const GIB = 2 ** 30;

/**
 * Bytes that must be free: what is missing, unpacked; and not less than `spaceRequired` less what is there already. Nothing
 * when nothing is missing.
 */
export function requiredBytes({ missingBytes, cachedBytes, expansion, spaceRequiredGiB }: SpaceDemand): number {
  if (missingBytes === 0) return 0;
  const floor = (spaceRequiredGiB ?? 0) * GIB - cachedBytes * expansion;
  return Math.ceil(Math.max(missingBytes * expansion, floor));
}

/**
 * Judges the space as spec/talm 4.7 does: available is `threshold` percent of the size less what is used, because the kubelet
 * removes unused images above that threshold; and never more than the file system lets us write. With no requirement something must be left.
 * @throws NoSpaceError with the figures
 */
export function requireSpace(usage: StoreUsage, required: number, thresholdPercent: number): void {
  const available = Math.min(usage.availableBytes, Math.floor((usage.sizeBytes * thresholdPercent) / 100 - usage.usedBytes));
  if (required > 0 ? available >= required : available > 0) return;
  throw new NoSpaceError(
    `not enough space for precaching: ${usage.path} has ${gib(usage.sizeBytes)}, ${gib(usage.usedBytes)} of it used; below the kubelet's image ` +
      `garbage collection threshold of ${thresholdPercent} % ${gib(Math.max(0, available))} are available and ${gib(required)} are required; ` +
      'free space on the node, or lower spaceRequired if it is more than the images take',
  );
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(bytes < GIB ? 3 : 1)} GiB`;
