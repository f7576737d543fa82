/** Status message about a job whose pod is missing or does not run. Pure. */
import type { JobStatus } from '@flotilla/api/core';
import { waitBy, waitMessage } from '@flotilla/rollout';
import type { JobState, SpokeJob } from './kind.ts';

/** Milliseconds without a pod before a message. The job controller tries again after 10, 20, 40 s. */
const NO_POD_MS = 30_000;
/** Milliseconds before a message about a pod that does not run: an image may take a minute. */
const NOT_RUNNING_MS = 120_000;

/**
 * Describes a late pod with its likely causes, and with the command that shows the real one. A view needs an object's name, and names of pods and
 * events are unknown. The Job tells whether it has a running pod, but no cause.
 * @param since start of the hub's watch of the job, milliseconds since the epoch
 */
export function describeDelay(
  since: number,
  { active = 0, ready }: Pick<JobStatus, 'active' | 'ready'>,
  { now, job: { names, words } }: { readonly now: number; readonly job: Pick<SpokeJob<JobState, never>, 'names' | 'words'> },
): { message?: string; requeueAt?: number } {
  // A server that does not report `ready` tells nothing about this pod.
  if (active > 0 && ready !== 0) return {};
  const patienceMs = active > 0 ? NOT_RUNNING_MS : NO_POD_MS;
  if (now - since < patienceMs) return { requeueAt: since + patienceMs };
  const say = (reason: 'PodNotRunning' | 'PodMissing', problem: string) =>
    waitMessage(waitBy('precache-problem', reason, problem, { namespace: names.namespace }));
  return {
    message:
      active > 0
        ? say(
            'PodNotRunning',
            `the pod of job ${names.job} has not been running for ${NOT_RUNNING_MS / 60_000} min: no room on the node (Pending), an image that cannot be pulled (ImagePullBackOff), or a host path that the node does not have (ContainerCreating)`,
          )
        : say(
            'PodMissing',
            `job ${names.job} has had no pod for ${NO_POD_MS / 1000} s: the cluster refuses to create it (FailedCreate), by a quota or an admission policy${words.refusal ? `, or ${words.refusal}` : ''}`,
          ),
  };
}
