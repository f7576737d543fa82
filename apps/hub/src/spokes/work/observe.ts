/** What a ManifestWork of a job says about its spoke: feedback counts for the objects that this very attempt created (spec/ocm 4.2). Pure. */
import { Annotation, type Condition, findCondition, Label } from '@flotilla/api';
import {
  type ManagedCluster,
  type ManifestStatus,
  type ManifestWork,
  STATUS_FEEDBACK_SYNCED,
  WORK_APPLIED,
  WORK_AVAILABLE,
} from '@flotilla/api/ocm';
import { countOf, isAvailable } from '@flotilla/rollout';
import { ActionAnnotation } from '../actions/hub-objects.ts';
import { createdAt, isAnswered, isLeaving } from '../port/ending-work.ts';
import type { Answer, Failure, Sight, SpokeObservation } from '../port/port.ts';
import { isRefusal } from '../port/refusals.ts';
import { reportOf, trimText } from '../port/report.ts';
import type { SpokeJobNames } from '../port/workload.ts';
import { Value } from './feedback.ts';
import { isFrozen } from './manifest-work.ts';

/** A spoke's works as the caches hold them, of one kind of job. */
export interface CachedWorks {
  readonly cluster: ManagedCluster | undefined;
  /** Of this upgrade. */
  readonly work: ManifestWork | undefined;
  /** Of another one: it has the name. */
  readonly other: ManifestWork | undefined;
  /** Actions of this upgrade: those that remove what somebody else left. */
  readonly isClearing: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** As long as five tries of an action take: then a refusal is the spoke's last word. */
const REFUSED_MS = 31_000;

/** Drops what no step reads: manifests, and all that a spoke says at length. */
export function trimJobWork({ apiVersion, kind, metadata, status }: ManifestWork): ManifestWork {
  const manifests = status?.resourceStatus?.manifests?.slice(0, MAX_MANIFESTS).map(trimManifest);
  return { apiVersion, kind, metadata, ...(status && { status: { conditions: status.conditions, resourceStatus: { manifests } } }) };
}

const MAX_MANIFESTS = 32;

function trimManifest({ resourceMeta, conditions, statusFeedback }: ManifestStatus): ManifestStatus {
  const isReadBack = (statusFeedback?.values ?? []).length > 0 || findCondition(conditions, WORK_APPLIED)?.status === 'False';
  // Of what is applied and not read back nothing decides anything.
  if (!isReadBack && !['Namespace', 'Job'].includes(resourceMeta.kind ?? '')) return { resourceMeta, conditions: [] };
  return {
    resourceMeta,
    conditions,
    statusFeedback: {
      values: statusFeedback?.values?.map(({ name, fieldValue: { type, integer, string } }) => ({
        name,
        fieldValue: { type, ...(integer !== undefined && { integer }), ...(string !== undefined && { string: trimText(string) }) },
      })),
    },
  };
}

/** Builds the observation of one spoke from its work. */
export function observeWork(names: SpokeJobNames, { cluster, work, other, isClearing, now }: CachedWorks): SpokeObservation {
  const available = isAvailable(cluster);
  const here = work && isLive(work) ? work : undefined;
  const namespace = here ? namespaceSight(here, names) : work || other ? LEFT : undefined;
  const isOwn = isOurs(namespace);
  const job = here && (isOwn || namespace?.answer.kind !== 'found') ? jobSight(here, names) : undefined;
  return {
    available,
    isHeld: isClearing || (work !== undefined && !isFrozen(work)),
    since: here && createdAt(here),
    digests: here ? [...digestsOf(here), ...(job === FOREIGN ? [OTHER_JOB] : [])] : [],
    namespace,
    job: job === FOREIGN ? undefined : job,
    report: isOwn && job !== FOREIGN ? reportOf(job?.answer) : undefined,
    failure: here && failureOf(here, now),
    losses: here ? lossesOf(here) : 0,
    isAnswered: here !== undefined && isAnswered(here),
  };
}

/** Neither on its way out nor kept for what it shows. */
const isLive = (work: ManifestWork): boolean => !isLeaving(work) && !isFrozen(work);

/** Whether the namespace was made by this very attempt: others' carry no annotations here. */
const isOurs = (namespace: Sight | undefined): boolean =>
  namespace?.answer.kind === 'found' && namespace.answer.object.metadata.annotations?.[Annotation.upgradeUid] !== undefined;

/** How often the job of a work was lost. */
export const lossesOf = ({ metadata }: ManifestWork): number => countOf(metadata.annotations?.[ActionAnnotation.refusals]);

/** What an earlier attempt left is found by this one's work, or has a work still. */
const LEFT: Sight = { since: 0, answer: { kind: 'found', object: { kind: 'Namespace', metadata: { name: '' } } } };
/** Somebody else's Job where ours should be. */
const FOREIGN = Symbol('a Job that this attempt did not create');
/** Stands for the spec of such a Job, which is nobody's. */
const OTHER_JOB = 'of another attempt';

const digestsOf = ({ metadata }: ManifestWork): string[] => {
  const digest = metadata.annotations?.[Annotation.specDigest];
  return digest === undefined ? [] : [digest];
};

const manifestOf = (work: ManifestWork, kind: string, name: string): ManifestStatus | undefined =>
  work.status?.resourceStatus?.manifests?.find(({ resourceMeta }) => resourceMeta.kind === kind && resourceMeta.name === name);

type Values = ReadonlyMap<string, string | number>;

/** What was read back from one object; values of an object that is not there any more are kept by stock agents, and are none. */
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
    if (value !== undefined) values.set(name, value);
  }
  return { kind: 'read', values };
}

/**
 * It was there and is not, as of the latest spec; before the first apply nothing is there either. Both times are one agent's, in whole
 * seconds: what went in the second of its apply is told by that something was read of it.
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

function namespaceSight(work: ManifestWork, { namespace }: SpokeJobNames): Sight {
  const since = createdAt(work);
  const manifest = manifestOf(work, 'Namespace', namespace);
  const seen = read(work, manifest);
  if (seen.kind !== 'read') {
    // What is refused is not there: the attempt goes on to say so.
    const isRefused = seen.kind === 'pending' && findCondition(manifest?.conditions, WORK_APPLIED)?.status === 'False';
    return { since, answer: isRefused ? { kind: 'absent' } : seen };
  }
  const { values } = seen;
  const leaving = values.get(Value.leaving);
  const metadata = {
    name: namespace,
    ...(leaving !== undefined && { deletionTimestamp: String(leaving) }),
    ...(isOfAttempt(work, values) && { annotations: marksOf(work) }),
  };
  return { since, answer: { kind: 'found', object: { kind: 'Namespace', metadata } } };
}

/** Whether the object was created by this very work: an earlier one of the same upgrade made what proves nothing now. */
function isOfAttempt({ metadata }: ManifestWork, values: Values): boolean {
  const id = metadata.annotations?.[Annotation.attempt];
  const mark = String(values.get(Value.attempt) ?? '');
  return id !== undefined && (mark === id || mark.startsWith(`${id}.`));
}

/** What stands on an object that this work's attempt created. */
function marksOf({ metadata }: ManifestWork): Record<string, string> {
  const digest = metadata.annotations?.[Annotation.specDigest];
  return {
    [Annotation.upgradeUid]: metadata.labels?.[Label.upgradeUid] ?? '',
    ...(digest !== undefined && { [Annotation.specDigest]: digest }),
  };
}

function jobSight(work: ManifestWork, { job, namespace }: SpokeJobNames): Sight | typeof FOREIGN | undefined {
  const seen = read(work, manifestOf(work, 'Job', job));
  const since = createdAt(work);
  if (seen.kind === 'pending') return undefined;
  if (seen.kind !== 'read') return { since, answer: seen };
  if (!isOfAttempt(work, seen.values)) return FOREIGN;
  const progress = String(seen.values.get(Value.progress) ?? '');
  const metadata = { name: job, namespace, annotations: { ...marksOf(work), [Annotation.progress]: progress } };
  return { since, answer: { kind: 'found', object: { kind: 'Job', metadata, status: jobStatus(seen.values) } } };
}

const SUCCEEDED: readonly unknown[] = ['SuccessCriteriaMet', 'Complete'];
const FAILED: readonly unknown[] = ['FailureTarget', 'Failed'];

/** A Job's status from the scalars of one read; what the Job does not say is left out. */
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

/** What the agent could not apply and goes on trying; it says so as long as that lasts. */
function failureOf(work: ManifestWork, now: number): Failure | undefined {
  const failing = (work.status?.resourceStatus?.manifests ?? []).flatMap(({ resourceMeta: { kind, name }, conditions }) => {
    const applied = findCondition(conditions, WORK_APPLIED);
    if (applied?.status !== 'False') return [];
    const text = applied.message.replace(/^Failed to apply manifest: /, '').slice(0, 1024);
    return [{ message: `${kind} ${name}: ${text}`, finalAt: isRefusal(text) ? refusedSince(work, applied, now) + REFUSED_MS : undefined }];
  });
  return failing.find(({ finalAt }) => finalAt !== undefined) ?? failing[0];
}

/** A spoke whose clock is ahead must not be waited for, nor one that is behind be judged at once. */
function refusedSince(work: ManifestWork, { lastTransitionTime }: Condition, now: number): number {
  const at = Date.parse(lastTransitionTime) || 0;
  return at > now ? createdAt(work) : Math.max(at, createdAt(work));
}
