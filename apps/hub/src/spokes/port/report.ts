import { Annotation } from '@flotilla/api';
import { PullerReport } from '@flotilla/api/ran';
import type { Answer } from './port.ts';

/** Longest text of a spoke that is kept, in characters: the longest is a puller's report, with ten failures at most. */
const MAX_TEXT = 16_384;

/** As much of a spoke's text as caches keep; a report that is cut is none any more. */
export const trimText = (text: string): string => text.slice(0, MAX_TEXT);

/** What the puller of a Job reported last; undefined when it is malformed. */
export const reportOf = (job: Answer | undefined): PullerReport | undefined =>
  job?.kind === 'found' ? parseReport(job.object.metadata.annotations?.[Annotation.progress] ?? '') : undefined;

function parseReport(text: string): PullerReport | undefined {
  if (text.length === 0 || text.length > MAX_TEXT) return undefined;
  try {
    return PullerReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON: an older or foreign puller; progress is not shown, nothing else depends on it
  }
}
