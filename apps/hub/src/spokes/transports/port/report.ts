/** Reads texts of a spoke: a puller's report, and whether its API server refuses for good, which an action tells by text alone (spec/ocm 1.3). Pure. */
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

/** Refusals of one object, or losses of the job, before the spoke counts as failed. */
export const RETRY_BUDGET = 5;

/** Texts of Forbidden, Invalid and admission errors, anywhere in a message: the stock agent prepends its own words. */
const VERDICTS = [' is forbidden: ', ' is invalid: ', ' denied the request'];
/** Texts of passing errors: one quotes another server's error, the other concerns a namespace that is about to go. */
const PASSING = ['Internal error occurred: ', ' because it is being terminated'];

/** True when a retry would get the same answer. All other errors may pass: refused connections, time-outs, overloaded servers, unknown texts. */
export const isRefusal = (message: string): boolean =>
  VERDICTS.some((words) => message.includes(words)) && !PASSING.some((words) => message.includes(words));
