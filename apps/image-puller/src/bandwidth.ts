import { BandwidthLimit, type Clock } from '@flotilla/pace';
import type { RegistryClientOptions } from '@flotilla/registry';

/** Share of a second that one range takes: a second gets at most one range too many, three percent. */
const RANGES_PER_SECOND = 32;
/** Smaller ranges would be headers for the most part. Below 512 KiB a second the cap holds in longer intervals. */
const LEAST_RANGE_BYTES = 16 * 1024;
const MOST_RANGE_BYTES = 4 * 1024 * 1024;

/** Returns the bytes of one range under a cap. */
export const rangeBytesUnder = (bytesPerSecond: number): number =>
  Math.min(MOST_RANGE_BYTES, Math.max(LEAST_RANGE_BYTES, Math.floor(bytesPerSecond / RANGES_PER_SECOND)));

/** Opens the cap of all that is read from registries; undefined without one. */
export function openBandwidth(bytesPerSecond: number | undefined, clock: Clock): RegistryClientOptions['bandwidth'] {
  if (bytesPerSecond === undefined) return undefined;
  const limit = new BandwidthLimit(bytesPerSecond, clock);
  return { take: (bytes, signal) => limit.take(bytes, signal), rangeBytes: rangeBytesUnder(bytesPerSecond) };
}
