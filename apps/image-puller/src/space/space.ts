import { freeBytes } from '@flotilla/software';
import { NoSpaceError } from '../errors.ts';

/** The file system that holds a store. */
export interface StoreUsage {
  /** Measured path, for messages. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** Writable bytes: less than size minus used where blocks are reserved or a quota applies. */
  readonly availableBytes: number;
}

const GIB = 2 ** 30;

/**
 * Checks the space as spec/talm 4.7 does: available is `threshold` percent of the size less the used bytes, because the kubelet removes unused images
 * above the threshold. It never exceeds the writable bytes. Without a requirement some space must be left.
 * @throws NoSpaceError with the figures
 */
export function requireSpace(usage: StoreUsage, required: number, thresholdPercent: number): void {
  const available = freeBytes(usage, thresholdPercent);
  if (required > 0 ? available >= required : available > 0) return;
  throw new NoSpaceError(
    `not enough space for precaching: ${usage.path} has ${gib(usage.sizeBytes)}, ${gib(usage.usedBytes)} of it used; below the kubelet's image ` +
      `garbage collection threshold of ${thresholdPercent} % ${gib(Math.max(0, available))} are available and ${gib(required)} are required; ` +
      'free space on the node, or lower spaceRequired if it is more than the images take',
  );
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(bytes < GIB ? 3 : 1)} GiB`;
