/** Feedback rules of a job's work, and the names of the values. Agents return scalars alone (spec/ocm 4.2). Pure. */
import { Annotation } from '@flotilla/api';
import type { ManifestConfig } from '@flotilla/api/ocm';

/** Names of feedback values. */
export const Value = {
  /** Attempt that created the object. It implies owner and spec, which the attempt's work carries. */
  attempt: 'attempt',
  /** Deletion timestamp of the namespace. */
  leaving: 'leaving',
  active: 'active',
  ready: 'ready',
  /** Type of the Job's first condition; `reason` and `message` are its fields. */
  verdict: 'verdict',
  reason: 'reason',
  message: 'message',
  /** Report of the puller, as JSON, from the same read as the verdict. */
  progress: 'progress',
} as const;

type Rules = NonNullable<ManifestConfig['feedbackRules']>;

const rule = (paths: Readonly<Record<string, string>>): Rules => [
  { type: 'JSONPaths', jsonPaths: Object.entries(paths).map(([name, path]) => ({ name, path })) },
];

const annotation = (name: string): string => `.metadata.annotations.${name.replaceAll('.', '\\.')}`;

/** The attempt comes from the same read as the other values, so that a verdict and its owner belong together. */
const IDENTITY = { [Value.attempt]: annotation(Annotation.attempt) };

/**
 * Reads the first condition of a Job, which stays first: `SuccessCriteriaMet` or `FailureTarget` precede `Complete` or `Failed`. So the end of a Job
 * is one change. Clusters before Kubernetes 1.31 have the latter alone. A filter by type would find nothing, or change twice.
 */
const verdict = (field: string): string => `.status.conditions[0].${field}`;

/** Rules by kind. Each value decides something: every value costs the hub in each write of the agent, and each change is a write. */
export const FEEDBACK = {
  namespace: rule({ ...IDENTITY, [Value.leaving]: '.metadata.deletionTimestamp' }),
  job: rule({
    ...IDENTITY,
    [Value.active]: '.status.active',
    [Value.ready]: '.status.ready',
    [Value.verdict]: verdict('type'),
    [Value.reason]: verdict('reason'),
    [Value.message]: verdict('message'),
    [Value.progress]: annotation(Annotation.progress),
  }),
};
