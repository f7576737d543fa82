/** Space that a pull needs. Pure. */

interface SpaceDemand {
  /** Compressed bytes of missing layers, each once. */
  readonly missingBytes: number;
  /** Compressed bytes of stored layers. */
  readonly cachedBytes: number;
  /** Those of them that are still to be unpacked. */
  readonly packedBytes: number;
  /** Store bytes per compressed byte. */
  readonly expansion: number;
  /** `spaceRequired`: bound of the whole pre-cache. */
  readonly spaceRequiredGiB: number | undefined;
}

/** A file system, and the share of it above which the kubelet removes unused images. */
interface Room {
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** Writable bytes: less than size minus used where blocks are reserved or a quota applies. */
  readonly availableBytes: number;
}

const GIB = 2 ** 30;

/** Store bytes per compressed byte where a runtime stores images: it keeps the blob, and one and a half times its size unpacked. */
export const RUNTIME_EXPANSION = 2.5;

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

/** Computes the bytes that may be stored before the kubelet removes unused images; never more than can be written. */
export const freeBytes = ({ sizeBytes, usedBytes, availableBytes }: Room, thresholdPercent: number): number =>
  Math.min(availableBytes, Math.floor((sizeBytes * thresholdPercent) / 100 - usedBytes));
