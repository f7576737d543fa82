import { PullerReport } from '@flotilla/api/ran';

/** Reads what a puller wrote; undefined when it is malformed. */
export function parseReport(text: string): PullerReport | undefined {
  if (text.length === 0 || text.length > 65_536) return undefined;
  try {
    return PullerReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON: an older or foreign puller; progress is not shown, nothing else depends on it
  }
}
