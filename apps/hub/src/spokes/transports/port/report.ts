import { Annotation } from '@flotilla/api';
import { PullerReport } from '@flotilla/api/ran';
import { MAX_TEXT } from '../../../trims.ts';
import type { Answer } from './port.ts';

/** Reads the last report of a Job's puller; undefined when it is malformed. */
export const reportOf = (job: Answer | undefined): PullerReport | undefined =>
  job?.kind === 'found' ? parseReport(job.object.metadata.annotations?.[Annotation.progress] ?? '') : undefined;

function parseReport(text: string): PullerReport | undefined {
  if (text.length === 0 || text.length > MAX_TEXT) return undefined;
  try {
    return PullerReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // an older or foreign puller writes no JSON: progress is not shown, and nothing else depends on it
  }
}
