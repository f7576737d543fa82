/** What the hub asks a work agent to read back from the objects of a job, and by which names. Scalars alone (spec/ocm 4.2). Pure. */
import { Annotation } from '@flotilla/api';
import type { ManifestConfig } from '@flotilla/api/ocm';

/** Names of values that are read back. */
export const Value = {
  /** Which attempt created the object, and so whose it is and for which spec: the work says that of its attempt. */
  attempt: 'attempt',
  /** Since when it is being deleted. */
  leaving: 'leaving',
  active: 'active',
  ready: 'ready',
  succeeded: 'succeeded',
  /** Of a Job's condition `Failed`. */
  failed: 'failed',
  reason: 'reason',
  message: 'message',
  /** The puller's report, as JSON. */
  progress: 'progress',
} as const;

type Rules = NonNullable<ManifestConfig['feedbackRules']>;

const rule = (paths: Readonly<Record<string, string>>): Rules => [
  { type: 'JSONPaths', jsonPaths: Object.entries(paths).map(([name, path]) => ({ name, path })) },
];

const annotation = (name: string): string => `.metadata.annotations.${name.replaceAll('.', '\\.')}`;

/** From the same read as all else, so that a verdict and whose it is belong together. */
const IDENTITY = { [Value.attempt]: annotation(Annotation.attempt) };

const failed = (field: string): string => `.status.conditions[?(@.type=="Failed")].${field}`;

/**
 * Rules by kind: the namespace, the Job, and the ConfigMap of the puller's progress. Nothing that decides nothing: every value costs the hub
 * with every write of the agent, and each change of one is a write.
 */
export const FEEDBACK = {
  namespace: rule({ ...IDENTITY, [Value.leaving]: '.metadata.deletionTimestamp' }),
  job: rule({
    ...IDENTITY,
    [Value.active]: '.status.active',
    [Value.ready]: '.status.ready',
    [Value.succeeded]: '.status.succeeded',
    [Value.failed]: failed('status'),
    [Value.reason]: failed('reason'),
    [Value.message]: failed('message'),
  }),
  progress: rule({ [Value.progress]: '.data.progress' }),
};
