/** Status message about an agent that is silent although its cluster counts as available. Pure. */
import { waitBy, waitMessage } from '@flotilla/rollout';
import type { SpokeObservation } from '../transports/port/port.ts';

/** Milliseconds without an answer before an agent counts as silent: it polls every few seconds. */
const SILENT_MS = 30_000;

/**
 * Returns no message while the agent may still answer. The reported time doubles with each message, so that a thousand silent agents do not rewrite a
 * status every second.
 */
export function describeSilence(
  { since, job, namespace, isAnswered, note }: Pick<SpokeObservation, 'since' | 'job' | 'namespace' | 'isAnswered' | 'note'>,
  { cluster, now }: { readonly cluster: string; readonly now: number },
): { message?: string; requeueAt?: number } {
  const waiting = job ?? namespace;
  const from = waiting?.answer.kind === 'pending' ? waiting.since : waiting ? undefined : since;
  const remark = note === undefined ? {} : { message: note };
  if (from === undefined || isAnswered) return remark;
  if (now - from < SILENT_MS) return { ...remark, requeueAt: from + SILENT_MS };
  const silentMs = SILENT_MS * 2 ** Math.floor(Math.log2((now - from) / SILENT_MS));
  const problem = `no word from the agent of ${cluster} for ${silentMs / 1000} s${note === undefined ? '' : ` (${note})`}`;
  const wait = { ...waitBy('agent-silent', 'AgentSilent', problem, { cluster }), since: from };
  return { message: waitMessage(wait), requeueAt: from + silentMs * 2 };
}
