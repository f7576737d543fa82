import { Annotation } from '../names.ts';

/** Smallest cap in bytes a second: a release of 20 GB takes two weeks by it. */
export const LEAST_BANDWIDTH = 16 * 1024;
/** Largest cap: no link of a cluster has more. */
export const MOST_BANDWIDTH = 10 ** 12;

/** Reads the cap of a PreCachingConfig's annotations, in bytes a second; a problem says how to write it. */
export function readBandwidth(annotations: Readonly<Record<string, string>> = {}): {
  readonly bytesPerSecond?: number;
  readonly problem?: string;
} {
  const text = annotations[Annotation.bandwidth]?.trim();
  if (text === undefined) return {};
  const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= LEAST_BANDWIDTH && value <= MOST_BANDWIDTH) return { bytesPerSecond: value };
  const shown = JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  return {
    problem: `${Annotation.bandwidth} is ${shown}; write bytes a second as a whole number from ${LEAST_BANDWIDTH} to ${MOST_BANDWIDTH}`,
  };
}
