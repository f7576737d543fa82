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
  /** Type of the Job's first condition, and why it has it. */
  verdict: 'verdict',
  reason: 'reason',
  message: 'message',
  /** The puller's report, as JSON: from the read that has the verdict, and in no manifest of its own. */
  progress: 'progress',
} as const;

type Rules = NonNullable<ManifestConfig['feedbackRules']>;

const rule = (paths: Readonly<Record<string, string>>): Rules => [
  { type: 'JSONPaths', jsonPaths: Object.entries(paths).map(([name, path]) => ({ name, path })) },
];

const annotation = (name: string): string => `.metadata.annotations.${name.replaceAll('.', '\\.')}`;

/** From the same read as all else, so that a verdict and whose it is belong together. */
const IDENTITY = { [Value.attempt]: annotation(Annotation.attempt) };

/**
 * A Job says first that it will end (`SuccessCriteriaMet`, `FailureTarget`) and then that it has (`Complete`, `Failed`): the first stays the first,
 * so that its end is one change. Clusters before Kubernetes 1.31 say the second alone. A filter by type would find nothing, or change twice.
 */
const verdict = (field: string): string => `.status.conditions[0].${field}`;

/** Rules by kind. Nothing that decides nothing: every value costs the hub with every write of the agent, and each change of one is a write. */
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
