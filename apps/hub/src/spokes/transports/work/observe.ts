/** Observes a spoke by its job's ManifestWork: feedback counts only for objects of this attempt (spec/ocm 4.2). Pure. */
import { Annotation, type Condition, findCondition, Label } from '@flotilla/api';
import {
  type ManagedCluster,
  type ManifestStatus,
  type ManifestWork,
  STATUS_FEEDBACK_SYNCED,
  WORK_APPLIED,
  WORK_AVAILABLE,
} from '@flotilla/api/ocm';
import { cutInMiddle } from '@flotilla/api/ran';
import { countOf, isAvailable } from '@flotilla/rollout';
import { ActionAnnotation } from '../actions/hub-objects.ts';
import { createdAt, isAnswered, isLeaving } from '../port/ending-work.ts';
import { type Answer, isRefusal, reportOf, type SpokeJobNames, type SpokeObservation, type WatchedObject } from '../port/port.ts';
import { isFrozen, Value } from './manifest-work.ts';

/** Cached works of a spoke, for one kind of job. */
export interface CachedWorks {
  readonly cluster: ManagedCluster | undefined;
  /** Work of this upgrade. */
  readonly work: ManifestWork | undefined;
  /** Work of another upgrade, which has the name. */
  readonly other: ManifestWork | undefined;
  /** This upgrade has actions that remove another attempt's objects. */
  readonly isClearing: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Milliseconds for which a refusal must last to be final: five tries of an action take as long. */
const REFUSED_MS = 31_000;

/** Builds the observation of one spoke from its work. */
export function observeWork(names: SpokeJobNames, { cluster, work, other, isClearing, now }: CachedWorks): SpokeObservation {
  const available = isAvailable(cluster);
  const here = work && isLive(work) ? work : undefined;
  const namespace = here ? observeNamespace(here, names) : work || other ? LEFT : undefined;
  const isOwn = isOurs(namespace);
  const job = here && (isOwn || namespace?.answer.kind !== 'found') ? observeJob(here, names) : undefined;
  return {
    available,
    hasObjects: isClearing || (work !== undefined && !isFrozen(work)),
    since: here && createdAt(here),
    digests: here ? [...digestsOf(here), ...(job === FOREIGN ? [OTHER_JOB] : [])] : [],
    namespace,
    job: job === FOREIGN ? undefined : job,
    report: isOwn && job !== FOREIGN ? reportOf(job?.answer) : undefined,
    ...(here ? failuresOf(here, names, now) : { failure: undefined }),
    losses: here ? lossesOf(here) : 0,
    isAnswered: here !== undefined && isAnswered(here),
  };
}

/** True for a work that is neither under deletion nor frozen. */
const isLive = (work: ManifestWork): boolean => !isLeaving(work) && !isFrozen(work);

/** True when this attempt created the namespace: only then does the observation carry annotations. */
const isOurs = (namespace: WatchedObject | undefined): boolean =>
  namespace?.answer.kind === 'found' && namespace.answer.object.metadata.annotations?.[Annotation.upgradeUid] !== undefined;

/** Number of times a work lost its job. */
export const lossesOf = ({ metadata }: ManifestWork): number => countOf(metadata.annotations?.[ActionAnnotation.refusals]);

/** WatchedObject of an earlier attempt's namespace: this attempt's work finds it, or its work still exists. */
const LEFT: WatchedObject = { since: 0, answer: { kind: 'found', object: { kind: 'Namespace', metadata: { name: '' } } } };
/** A Job of another creator in place of ours. */
const FOREIGN = Symbol('a Job that this attempt did not create');
/** Digest of such a Job; it equals no spec's. */
const OTHER_JOB = 'of another attempt';

const digestsOf = ({ metadata }: ManifestWork): string[] => {
  const digest = metadata.annotations?.[Annotation.specDigest];
  return digest === undefined ? [] : [digest];
};

const manifestOf = (work: ManifestWork, kind: string, name: string): ManifestStatus | undefined =>
  work.status?.resourceStatus?.manifests?.find(({ resourceMeta }) => resourceMeta.kind === kind && resourceMeta.name === name);

type Values = ReadonlyMap<string, string | number>;

/** Values of one object. Stock agents keep the values of a deleted object, which do not count. */
type Read = Exclude<Answer, { kind: 'found' }> | { readonly kind: 'read'; readonly values: Values };

function read(work: ManifestWork, manifest: ManifestStatus | undefined): Read {
  const available = findCondition(manifest?.conditions, WORK_AVAILABLE);
  if (!manifest || !available) return { kind: 'pending' };
  if (available.status === 'Unknown') return { kind: 'unknown', message: available.message };
  if (available.status === 'False') return isAbsent(work, manifest, available) ? { kind: 'absent' } : { kind: 'pending' };
  const synced = findCondition(manifest.conditions, STATUS_FEEDBACK_SYNCED);
  if (!synced) return { kind: 'pending' };
  if (synced.status !== 'True') return { kind: 'unknown', message: synced.message };
  const values = new Map<string, string | number>();
  for (const { name, fieldValue } of manifest.statusFeedback?.values ?? []) {
    const value = fieldValue.string ?? fieldValue.integer;
    if (value !== undefined) values.set(name, typeof value === 'bigint' ? Number(value) : value);
  }
  return { kind: 'read', values };
}

/**
 * True when the object existed and is gone, as of the latest spec; before the first apply it is absent too. Both times come from one agent, in whole
 * seconds. Within the same second, earlier feedback proves that the object existed.
 */
function isAbsent({ metadata, status }: ManifestWork, { conditions }: ManifestStatus, available: Condition): boolean {
  const applied = findCondition(conditions, WORK_APPLIED);
  const isLatest = [WORK_APPLIED, WORK_AVAILABLE].every(
    (type) => (findCondition(status?.conditions, type)?.observedGeneration ?? 0) >= (metadata.generation ?? 1),
  );
  if (applied?.status !== 'True' || !isLatest) return false;
  const laterMs = Date.parse(available.lastTransitionTime) - Date.parse(applied.lastTransitionTime);
  return laterMs > 0 || (laterMs === 0 && findCondition(conditions, STATUS_FEEDBACK_SYNCED) !== undefined);
}

function observeNamespace(work: ManifestWork, { namespace }: SpokeJobNames): WatchedObject {
  const since = createdAt(work);
  const manifest = manifestOf(work, 'Namespace', namespace);
  const feedback = read(work, manifest);
  if (feedback.kind !== 'read') {
    // A refused namespace is absent, so that the attempt goes on and reports the refusal.
    const isRefused = feedback.kind === 'pending' && findCondition(manifest?.conditions, WORK_APPLIED)?.status === 'False';
    return { since, answer: isRefused ? { kind: 'absent' } : feedback };
  }
  const { values } = feedback;
  const leaving = values.get(Value.leaving);
  const metadata = {
    name: namespace,
    ...(leaving !== undefined && { deletionTimestamp: String(leaving) }),
    ...(isOfAttempt(work, values) && { annotations: marksOf(work) }),
  };
  return { since, answer: { kind: 'found', object: { kind: 'Namespace', metadata } } };
}

/** True when this work created the object: objects of the same upgrade's earlier attempt prove nothing. */
function isOfAttempt({ metadata }: ManifestWork, values: Values): boolean {
  const id = metadata.annotations?.[Annotation.attempt];
  const mark = String(values.get(Value.attempt) ?? '');
  return id !== undefined && (mark === id || mark.startsWith(`${id}.`));
}

/** Annotations of an object that this work's attempt created. */
function marksOf({ metadata }: ManifestWork): Record<string, string> {
  const digest = metadata.annotations?.[Annotation.specDigest];
  return {
    [Annotation.upgradeUid]: metadata.labels?.[Label.upgradeUid] ?? '',
    ...(digest !== undefined && { [Annotation.specDigest]: digest }),
  };
}

function observeJob(work: ManifestWork, { job, namespace }: SpokeJobNames): WatchedObject | typeof FOREIGN | undefined {
  const feedback = read(work, manifestOf(work, 'Job', job));
  const since = createdAt(work);
  if (feedback.kind === 'pending') return undefined;
  if (feedback.kind !== 'read') return { since, answer: feedback };
  if (!isOfAttempt(work, feedback.values)) return FOREIGN;
  const progress = String(feedback.values.get(Value.progress) ?? '');
  const metadata = { name: job, namespace, annotations: { ...marksOf(work), [Annotation.progress]: progress } };
  return { since, answer: { kind: 'found', object: { kind: 'Job', metadata, status: jobStatus(feedback.values) } } };
}

const SUCCEEDED: readonly unknown[] = ['SuccessCriteriaMet', 'Complete'];
const FAILED: readonly unknown[] = ['FailureTarget', 'Failed'];

/** Builds a Job's status from the scalars of one read; missing scalars stay out. */
function jobStatus(values: Values): Record<string, unknown> {
  const counts = [Value.active, Value.ready].flatMap((name) => (values.has(name) ? [[name, values.get(name)]] : []));
  const verdict = values.get(Value.verdict);
  const failed = { type: 'Failed', status: 'True', reason: values.get(Value.reason), message: values.get(Value.message) };
  return {
    ...Object.fromEntries(counts),
    ...(SUCCEEDED.includes(verdict) && { succeeded: 1 }),
    ...(FAILED.includes(verdict) && { conditions: [failed] }),
  };
}

/** Finds manifests that the agent could not apply and retries; their conditions last as long as the failure. */
function failuresOf(work: ManifestWork, { nodes }: SpokeJobNames, now: number): Pick<SpokeObservation, 'failure' | 'nodesFailure'> {
  const failing = (work.status?.resourceStatus?.manifests ?? []).flatMap(({ resourceMeta: { kind, name }, conditions }) => {
    const applied = findCondition(conditions, WORK_APPLIED);
    if (applied?.status !== 'False') return [];
    const text = cutInMiddle(applied.message.replace(/^Failed to apply manifest: /, ''), 1024);
    const finalAt = isRefusal(text) ? refusedSince(work, applied, now) + REFUSED_MS : undefined;
    return [{ object: `${kind} ${name}`, message: `${kind} ${name}: ${text}`, finalAt }];
  });
  const lasting = failing.filter(({ finalAt }) => finalAt !== undefined);
  return { failure: lasting[0] ?? failing[0], nodesFailure: lasting.find(({ object }) => nodes?.objects.includes(object)) };
}

/** Corrects a spoke's clock: one ahead must not delay the verdict, one behind must not hasten it. */
function refusedSince(work: ManifestWork, { lastTransitionTime }: Condition, now: number): number {
  const at = Date.parse(lastTransitionTime) || 0;
  return at > now ? createdAt(work) : Math.max(at, createdAt(work));
}
