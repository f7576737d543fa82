import { Annotation } from '../names.ts';

/** Smallest cap in bytes a second: a release of 20 GB takes two weeks by it. */
export const LEAST_BANDWIDTH = 16 * 1024;
/** Largest cap: no link of a cluster has more. */
export const MOST_BANDWIDTH = 10 ** 12;

/** Key of ConfigMap `pre-cache-spec` with the cap that the hub hands out now, in bytes a second; the puller reads it again and again. */
export const BANDWIDTH_KEY = 'bandwidth';

/** Outcome of reading a cap; a problem says how to write it. */
interface ReadBandwidth {
  readonly bytesPerSecond?: number;
  readonly problem?: string;
}

/** Reads a cap by the name of its place, in bytes a second; none where there is no text. */
export function parseBandwidth(name: string, text: string | undefined): ReadBandwidth {
  if (text === undefined) return {};
  const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= LEAST_BANDWIDTH && value <= MOST_BANDWIDTH) return { bytesPerSecond: value };
  const shown = JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  return { problem: `${name} is ${shown}; write bytes a second as a whole number from ${LEAST_BANDWIDTH} to ${MOST_BANDWIDTH}` };
}

/** Reads the cap of a PreCachingConfig's annotations. */
export const readBandwidth = (annotations: Readonly<Record<string, string>> = {}): ReadBandwidth =>
  parseBandwidth(Annotation.bandwidth, annotations[Annotation.bandwidth]?.trim());
