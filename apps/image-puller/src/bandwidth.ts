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

/** Waits until so many bytes may be read from registries. */
export type TakeBytes = (bytes: number, signal?: AbortSignal) => Promise<void>;

/** Opens the cap of a spoke's link; undefined without one. */
export function openLimit(bytesPerSecond: number | undefined, clock: Clock): TakeBytes | undefined {
  if (bytesPerSecond === undefined) return undefined;
  const limit = new BandwidthLimit(bytesPerSecond, clock);
  return (bytes, signal) => limit.take(bytes, signal);
}

/** Puts all that is read from registries under the cap; undefined without one. */
export const openBandwidth = (bytesPerSecond: number | undefined, take: TakeBytes | undefined): RegistryClientOptions['bandwidth'] =>
  bytesPerSecond === undefined || !take ? undefined : { take, rangeBytes: rangeBytesUnder(bytesPerSecond) };
