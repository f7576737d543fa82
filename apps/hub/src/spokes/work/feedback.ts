/** What the hub asks a work agent to read back from the objects of a job, and by which names. Scalars alone (spec/ocm 4.2). Pure. */
import { Annotation } from '@flotilla/api';
import type { ManifestConfig } from '@flotilla/api/ocm';

/** Names of values that are read back. */
export const Value = {
  /** Whose the object is: uid of the upgrade, digest of the spec, and the attempt that created it. */
  owner: 'owner',
  digest: 'digest',
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

/** All from one read, so that a verdict and whose it is belong together. */
const IDENTITY = {
  [Value.owner]: annotation(Annotation.upgradeUid),
  [Value.digest]: annotation(Annotation.specDigest),
  [Value.attempt]: annotation(Annotation.attempt),
  [Value.leaving]: '.metadata.deletionTimestamp',
};

const failed = (field: string): string => `.status.conditions[?(@.type=="Failed")].${field}`;

/** Rules by kind: the namespace, the Job, and the ConfigMap of the puller's progress. */
export const FEEDBACK = {
  namespace: rule(IDENTITY),
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
