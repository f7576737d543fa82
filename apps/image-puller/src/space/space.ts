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

/** Space demand of the list. */
interface SpaceDemand {
  /** Compressed bytes of missing layers, each once. */
  readonly missingBytes: number;
  /** Compressed bytes of stored layers. */
  readonly cachedBytes: number;
  /** Those of them that no pulled image has: they are still to be unpacked. */
  readonly packedBytes: number;
  /** Store bytes per compressed byte. */
  readonly expansion: number;
  /** `spaceRequired`: bound of the whole pre-cache. */
  readonly spaceRequiredGiB: number | undefined;
}

const GIB = 2 ** 30;

/**
 * Computes the bytes that must be free: the missing layers with their unpacked files, and the files of packed ones, but at least `spaceRequired` less
 * what is there. Zero when nothing is missing.
 */
export function requiredBytes({ missingBytes, cachedBytes, packedBytes, expansion, spaceRequiredGiB }: SpaceDemand): number {
  const toUnpack = packedBytes * (expansion - 1);
  const demand = missingBytes * expansion + toUnpack;
  if (demand === 0) return 0;
  const floor = (spaceRequiredGiB ?? 0) * GIB - (cachedBytes * expansion - toUnpack);
  return Math.ceil(Math.max(demand, floor));
}

/**
 * Checks the space as spec/talm 4.7 does: available is `threshold` percent of the size less the used bytes, because the kubelet removes unused images
 * above the threshold. It never exceeds the writable bytes. Without a requirement some space must be left.
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
