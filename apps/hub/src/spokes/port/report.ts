import { PullerReport } from '@flotilla/api/ran';

/** Longest report that is read, in characters: a puller's has ten failures at most. */
const MAX_REPORT = 16_384;

/** As much of what stands where a report should be as caches keep: what is cut is none any more. */
export const trimReport = (text: string): string => text.slice(0, MAX_REPORT);

/** Reads what a puller wrote; undefined when it is malformed. */
export function parseReport(text: string): PullerReport | undefined {
  if (text.length === 0 || text.length > MAX_REPORT) return undefined;
  try {
    return PullerReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON: an older or foreign puller; progress is not shown, nothing else depends on it
  }
}
