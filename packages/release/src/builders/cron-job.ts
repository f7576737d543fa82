import { defined, objectAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { mergeJobSpec } from './job.ts';
import { leaveCronJobSpec } from './leftovers.ts';
import { mergeMetadata } from './merge.ts';
import { merged } from './merged.ts';

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
