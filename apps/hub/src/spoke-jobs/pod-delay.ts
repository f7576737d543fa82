/** What is said of a job whose pod does not come or does not run. Pure. */
import type { JobStatus } from '@flotilla/api/core';
import { explain } from '@flotilla/api/ran';
import type { JobState, SpokeJob } from './kind.ts';

/** After so long a job without a pod is spoken of, milliseconds. The job controller tries again after 10, 20, 40 s. */
const NO_POD_MS = 30_000;
/** After so long a pod that does not run is, milliseconds: an image may take a minute. */
const NOT_RUNNING_MS = 120_000;

/**
 * A view shows one object by name, and neither the pod nor its events have a name that can be known; the Job alone tells whether it has a pod
 * and whether that runs, not why. So the likely reasons are said, and how to see the one it is.
 * @param since when the hub began to watch the job, milliseconds since the epoch
 */
export function tellDelay(
  since: number,
  { active = 0, ready }: Pick<JobStatus, 'active' | 'ready'>,
  { now, job: { names, words } }: { readonly now: number; readonly job: Pick<SpokeJob<JobState, never>, 'names' | 'words'> },
): { message?: string; lookAt?: number } {
  // A server that does not count pods that run says nothing about this one.
  if (active > 0 && ready !== 0) return {};
  const patienceMs = active > 0 ? NOT_RUNNING_MS : NO_POD_MS;
  if (now - since < patienceMs) return { lookAt: since + patienceMs };
  // The fix comes before the likely causes, which are what a short status loses.
  const say = (reason: 'PodNotRunning' | 'PodMissing', problem: string) => explain(reason, problem, { namespace: names.namespace });
  return {
    message:
      active > 0
        ? `${say('PodNotRunning', `the pod of job ${names.job} has not been running for ${NOT_RUNNING_MS / 60_000} min`)}: no room on the node (Pending), an image that cannot be pulled (ImagePullBackOff), or a host path that the node does not have (ContainerCreating)`
        : `${say('PodMissing', `job ${names.job} has had no pod for ${NO_POD_MS / 1000} s`)}: the cluster refuses to create it (FailedCreate), by a quota or an admission policy${words.refusal ? `, or ${words.refusal}` : ''}`,
  };
}
