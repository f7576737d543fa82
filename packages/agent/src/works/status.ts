import { type Condition, findCondition, isJsonObject, withCondition } from '@flotilla/api';
import { type ManifestStatus, type ManifestWork, WORK_APPLIED, WORK_AVAILABLE } from '@flotilla/api/ocm';
import type { WorkAccess } from '../access.ts';
import { textOf } from '../semantics.ts';
import { type Applied, AppliedReason } from './apply.ts';
import { type Feedback, type FeedbackMode, feedbackFailed, readFeedback } from './feedback.ts';
import { identityOf, type ResourceMeta, type WorkManifest } from './manifests.ts';

/** Condition type of a work under deletion: the objects that remain. */
export const WORK_DELETING = 'Deleting';

type Verdict = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;
/** `status` of a ManifestWork. */
export type WorkStatus = NonNullable<ManifestWork['status']>;

const LONGEST_MESSAGE = 4096;

/** Sets a condition, and cuts its message, because a spoke's texts may be long. */
export const withWorkCondition = (
  conditions: readonly Condition[] | null | undefined,
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): Condition[] => withCondition(conditions, { ...next, message: next.message.slice(0, LONGEST_MESSAGE) }, nowMs);

const appliedVerdict = ({ error, reason }: Applied): Verdict => ({
  type: WORK_APPLIED,
  status: error === undefined ? 'True' : 'False',
  reason,
  message: error === undefined ? 'Apply manifest complete' : `Failed to apply manifest: ${error}`,
});

interface Observation {
  readonly available: Verdict;
  /** Undefined: no feedback was requested. */
  readonly feedback: Feedback | undefined;
  /** The object is watched, and its controller has not looked at it yet. */
  readonly isUntouched?: boolean;
}

/** Reads a manifest's object and its feedback. "Available" only means that it exists (spec/ocm 4.2). */
export async function observeManifest(
  { target, config }: WorkManifest,
  access: WorkAccess,
  mode: FeedbackMode = 'settled',
): Promise<Observation> {
  const rules = config?.feedbackRules;
  const unread = (status: 'False' | 'Unknown', reason: string, message: string): Observation => ({
    available: { type: WORK_AVAILABLE, status, reason, message },
    feedback: rules && rules.length > 0 ? feedbackFailed(message) : undefined,
  });
  if (!target) return unread('Unknown', 'IncompleteResourceMeta', 'Resource meta is incomplete');
  try {
    const object = await access.find(target.served, target.namespace, target.name);
    if (!object) return unread('False', 'ResourceNotAvailable', 'Resource is not available');
    return {
      available: { type: WORK_AVAILABLE, status: 'True', reason: 'ResourceAvailable', message: 'Resource is available' },
      feedback: readFeedback(object, target.served, rules, mode),
      isUntouched: config?.feedbackScrapeType === 'Watch' && isJsonObject(object.status) && Object.keys(object.status).length === 0,
    };
  } catch (error) {
    return unread('Unknown', 'FetchingResourceFailed', `Failed to fetch resource: ${textOf(error)}`);
  }
}

/** Builds the status of one manifest. Without `applied` its last `Applied` condition stays; without `observation` all feedback does. */
export function manifestStatus(
  meta: ResourceMeta,
  previous: ManifestStatus | undefined,
  outcome: { applied?: Applied | undefined; observation: Observation | undefined },
  nowMs: number,
): ManifestStatus {
  const { applied, observation } = outcome;
  const verdicts = [applied && appliedVerdict(applied), observation?.available, observation?.feedback?.condition];
  let conditions: Condition[] = [...(previous?.conditions ?? [])];
  for (const verdict of verdicts) if (verdict) conditions = withWorkCondition(conditions, verdict, nowMs);
  const values = observation ? (observation.feedback?.values ?? []) : (previous?.statusFeedback?.values ?? []);
  return { resourceMeta: meta, conditions, statusFeedback: values.length > 0 ? { values: [...values] } : {} };
}

/** Replaces an entry's `Applied` condition and keeps the rest. */
export const withApplied = (entry: ManifestStatus, applied: Applied, nowMs: number): ManifestStatus => ({
  ...entry,
  conditions: withWorkCondition(entry.conditions, appliedVerdict(applied), nowMs),
});

/** Finds the last status of a manifest. Its ordinal alone would give it another object's conditions. */
export const previousOf = (work: ManifestWork, meta: ResourceMeta): ManifestStatus | undefined =>
  work.status?.resourceStatus?.manifests?.find(
    ({ resourceMeta }) => resourceMeta.ordinal === meta.ordinal && identityOf(resourceMeta) === identityOf(meta),
  );

/** Builds the status of a work from its manifests; unread manifests leave `Available` as it was. */
export function workStatus(
  work: ManifestWork,
  manifests: readonly ManifestStatus[],
  nowMs: number,
  { isRead }: { readonly isRead: boolean },
): WorkStatus {
  const { generation } = work.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  let conditions: Condition[] = [...(work.status?.conditions ?? [])];
  for (const verdict of isRead ? [appliedWork(manifests), availableWork(manifests)] : [appliedWork(manifests)])
    conditions = withWorkCondition(conditions, { ...verdict, ...observed }, nowMs);
  return { ...work.status, conditions, resourceStatus: { ...work.status?.resourceStatus, manifests: [...manifests] } };
}

const countOf = (manifests: readonly ManifestStatus[], type: string, status: Condition['status']): number =>
  manifests.filter(({ conditions }) => findCondition(conditions, type)?.status === status).length;

function appliedWork(manifests: readonly ManifestStatus[]): Verdict {
  if (manifests.length > 0 && countOf(manifests, WORK_APPLIED, 'True') === manifests.length)
    return { type: WORK_APPLIED, status: 'True', reason: 'AppliedManifestWorkComplete', message: 'Apply manifest work complete' };
  // A work without manifests has no other place for the reason.
  const why = manifests.length === 0 ? ': spec.workload.manifests is empty: name at least one manifest' : '';
  return { type: WORK_APPLIED, status: 'False', reason: 'AppliedManifestWorkFailed', message: `Failed to apply manifest work${why}` };
}

function availableWork(manifests: readonly ManifestStatus[]): Verdict {
  const total = manifests.length;
  const missing = countOf(manifests, WORK_AVAILABLE, 'False');
  const unknown = total - missing - countOf(manifests, WORK_AVAILABLE, 'True');
  const verdict = (status: Condition['status'], reason: string, message: string): Verdict => ({
    type: WORK_AVAILABLE,
    status,
    reason,
    message,
  });
  if (missing > 0) return verdict('False', 'ResourcesNotAvailable', `${missing} of ${total} resources are not available`);
  if (unknown > 0 || total === 0)
    return verdict('Unknown', 'ResourcesStatusUnknown', `${unknown} of ${total} resources have unknown status`);
  return verdict('True', 'ResourcesAvailable', 'All resources are available');
}

/** Builds the outcome of every manifest of a work that cannot be applied. */
export const refusedWork = (refusal: string): Applied => ({ error: refusal, reason: AppliedReason.failed });
