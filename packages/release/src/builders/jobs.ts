import { saidText } from '../errors.ts';
import { UpdateError } from '../graph/update-error.ts';
import { defined, isSame, type Json, objectAt, textAt } from '../json-values.ts';
import { type Builder, failed, type Judging, type ObjectVerdict, ready, waiting } from './builder.ts';
import { leaveCronJobSpec, withoutLeftovers } from './leftovers.ts';
import { isMuchTheSame, merged, mergeMetadata } from './merge.ts';
import { mergePodTemplate } from './pod-template.ts';
import { conditionOf, numberAt, STUCK_MS, workloadId } from './rollout.ts';

/** Defaults that a server fills into a Job, and not into a CronJob's template. */
const DEFAULTS = { backoffLimit: 6, suspend: false, completionMode: 'NonIndexed' };

/** Merges a Job's spec (spec/cvo 3.6); a selector that the server chose stays. */
function mergeJobSpec(live: unknown, wanted: unknown, defaults: Partial<typeof DEFAULTS> = DEFAULTS): Json {
  const [before, next] = [objectAt(live), objectAt(wanted)];
  return defined({
    ...before,
    parallelism: next.parallelism ?? before.parallelism,
    completions: next.completions ?? before.completions,
    activeDeadlineSeconds: next.activeDeadlineSeconds,
    backoffLimit: next.backoffLimit ?? defaults.backoffLimit,
    manualSelector: next.manualSelector ?? (before.manualSelector === false ? false : undefined),
    ttlSecondsAfterFinished: next.ttlSecondsAfterFinished,
    suspend: next.suspend ?? defaults.suspend,
    template: mergePodTemplate(before.template, next.template),
    completionMode: next.completionMode ?? defaults.completionMode,
    podFailurePolicy: next.podFailurePolicy,
  });
}

/** Fields of a Job that cannot be changed once it exists. */
const FIXED = ['completions', 'manualSelector', 'template', 'completionMode', 'podFailurePolicy'];

/** Jobs (spec/cvo 3.6, 3.8): waited for until they succeed, in installs and updates, because what comes after them needs what they do. */
export const job: Builder = {
  build: (manifest) => manifest,
  merge(object, built) {
    const live = withoutLeftovers(object, built);
    const spec = mergeJobSpec(live.spec, built.spec);
    const before = objectAt(live.spec);
    const changed = FIXED.filter((field) => !isSame(before[field], spec[field]));
    if (changed.length > 0) throw cannotChange(live, changed);
    return { ...live, metadata: mergeMetadata(live.metadata, built.metadata), spec };
  },
  resembles: isMuchTheSame,
  judge,
};

function cannotChange(live: Json, fields: readonly string[]): UpdateError {
  const id = workloadId(live);
  return new UpdateError({
    reason: 'UpdatePayloadResourceInvalid',
    message: `Could not update job ${id}: ${fields.map((field) => `spec.${field}`).join(', ')} of a Job cannot be changed; give the new Job another name, or delete this one`,
    names: [id],
  });
}

function judge(live: Json, { state }: Judging): ObjectVerdict {
  const id = workloadId(live);
  const status = objectAt(live.status);
  const active = numberAt(status.active);
  const losses = numberAt(status.failed);
  if (conditionOf(status, 'Complete')?.status === 'True') return ready;
  const failure = conditionOf(status, 'Failed');
  if (failure?.status === 'True' || (active === 0 && losses > 0 && losses > numberAt(objectAt(live.spec).backoffLimit)))
    return failedJob(id, failure);
  if (numberAt(status.succeeded) >= (numberAt(objectAt(live.spec).completions) || 1)) return ready;
  // nothing of the release comes after a Job that is made again where all is as it should be
  if (state === 'Reconciling') return ready;
  const how = active === 0 ? 'it has not begun yet' : `${active} of its pods run`;
  return waiting({
    reason: 'WorkloadUpdating',
    message: `job ${id} is not done: ${how}`,
    names: [id],
    // how long a pod that runs may take is for the Job to say
    awaited: { kind: 'job', how, ...(numberAt(status.ready) === 0 && { limitMs: STUCK_MS }) },
  });
}

function failedJob(id: string, failure: Json | undefined): ObjectVerdict {
  const reason = textAt(failure?.reason) || 'DeadlineExceeded';
  const message = saidText(textAt(failure?.message)) || 'Job was active longer than specified deadline';
  const what = reason === 'DeadlineExceeded' ? 'deadline exceeded' : 'failed';
  return failed({
    reason: 'WorkloadNotProgressing',
    message: `job ${id}: ${what}, reason: ${JSON.stringify(reason)}, message: ${JSON.stringify(message)}`,
    names: [id],
  });
}

/** CronJobs (spec/cvo 3.6). */
export const cronJob: Builder = merged(
  (live, built) => {
    const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
    const [jobBefore, job] = [objectAt(before.jobTemplate), objectAt(next.jobTemplate)];
    return {
      spec: defined({
        ...before,
        schedule: next.schedule,
        timeZone: next.timeZone,
        startingDeadlineSeconds: next.startingDeadlineSeconds,
        concurrencyPolicy: next.concurrencyPolicy ?? 'Allow',
        suspend: next.suspend ?? false,
        successfulJobsHistoryLimit: next.successfulJobsHistoryLimit ?? 3,
        failedJobsHistoryLimit: next.failedJobsHistoryLimit ?? 1,
        jobTemplate: defined({
          ...jobBefore,
          metadata: mergeMetadata(jobBefore.metadata, job.metadata),
          spec: mergeJobSpec(jobBefore.spec, job.spec, {}),
        }),
      }),
    };
  },
  {},
  { spec: leaveCronJobSpec },
);
