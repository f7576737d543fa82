import { type Condition, findCondition, isJsonObject, withCondition } from '@flotilla/api';
import {
  type ManifestStatus,
  type ManifestWork,
  STATUS_FEEDBACK_SYNCED,
  WORK_APPLIED,
  WORK_AVAILABLE,
  WorkStatusBound,
} from '@flotilla/api/ocm';
import type { WorkAccess } from '../access.ts';
import { isAway, textOf } from '../semantics.ts';
import { type Applied, AppliedReason } from './apply.ts';
import { type Feedback, feedbackFailed, newReading, type Reading, readFeedback } from './feedback.ts';
import type { ResourceMeta, WorkManifest } from './manifests.ts';

/** Condition type of a work under deletion: the objects that remain. */
export const WORK_DELETING = 'Deleting';

/** Reason of conditions that nobody could judge. */
const AWAY = 'SpokeAPIServerAway';

type Verdict = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;
/** `status` of a ManifestWork. */
export type WorkStatus = NonNullable<ManifestWork['status']>;

/** As much as readers of a work keep, or each pass would write what the last one wrote. */
const LONGEST_MESSAGE = 2048;

/** Sets a condition, and cuts its message, because a spoke's texts may be long. */
export const withWorkCondition = (
  conditions: readonly Condition[] | null | undefined,
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): Condition[] => withCondition(conditions, { ...next, message: cut(next.message, LONGEST_MESSAGE) }, nowMs);

/** Cuts a text; half a character at its end would come back from the server as another one. */
const cut = (text: string, most: number): string => (text.length > most ? text.slice(0, most).toWellFormed() : text);

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
  reading: Reading = newReading(),
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
      feedback: readFeedback(object, target.served, { rules, reading }),
      isUntouched: config?.feedbackScrapeType === 'Watch' && isJsonObject(object.status) && Object.keys(object.status).length === 0,
    };
  } catch (error) {
    if (isAway(error)) throw error;
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
  return { ...work.status, conditions, resourceStatus: { ...work.status?.resourceStatus, manifests: withinBounds(manifests) } };
}

/** Cuts the longest messages until all fit; the values have a room of their own. */
function withinBounds(manifests: readonly ManifestStatus[]): ManifestStatus[] {
  const kept = manifests.slice(0, WorkStatusBound.manifests);
  const messages = kept.flatMap(({ conditions }) => (conditions ?? []).map(({ message }) => message.length));
  let most = LONGEST_MESSAGE;
  while (most > 1 && messages.reduce((sum, length) => sum + Math.min(length, most), 0) > WorkStatusBound.allMessages)
    most = Math.floor(most / 2);
  if (most === LONGEST_MESSAGE) return kept;
  return kept.map((entry) => ({
    ...entry,
    conditions: entry.conditions?.map((condition) => ({ ...condition, message: cut(condition.message, most) })),
  }));
}

const valuesLeftOut = (refusal: string): Feedback => feedbackFailed(`The hub refused the values, which are left out: ${refusal}`);

/** Leaves the values of an observation out, and says why. */
export const unreportable = (observation: Observation, refusal: string): Observation =>
  (observation.feedback?.values ?? []).length > 0 ? { ...observation, feedback: valuesLeftOut(refusal) } : observation;

/** Leaves all values of a status out that the hub refuses: each manifest that had some says why. */
export const withoutValues = (status: WorkStatus, refusal: string, nowMs: number): WorkStatus => ({
  ...status,
  resourceStatus: {
    ...status.resourceStatus,
    manifests: withinBounds(
      (status.resourceStatus?.manifests ?? []).map((entry) =>
        (entry.statusFeedback?.values ?? []).length === 0
          ? entry
          : { ...entry, statusFeedback: {}, conditions: withWorkCondition(entry.conditions, valuesLeftOut(refusal).condition, nowMs) },
      ),
    ),
  },
});

/**
 * Builds the status of a work whose spoke gave no verdict: the pass is unknown, and the last values stay, because nobody has seen others.
 * @param types condition types that the pass was to judge
 */
export function awayStatus(work: ManifestWork, error: unknown, types: readonly string[], nowMs: number): WorkStatus {
  const away = "The spoke's API server gives no answer; it is asked again";
  const unknown = (type: string, message: string): Verdict => ({ type, status: 'Unknown', reason: AWAY, message });
  const { generation } = work.metadata;
  let conditions: Condition[] = [...(work.status?.conditions ?? [])];
  for (const type of types)
    conditions = withWorkCondition(
      conditions,
      { ...unknown(type, `${away}: ${textOf(error)}`), ...(generation !== undefined && { observedGeneration: generation }) },
      nowMs,
    );
  const manifests = (work.status?.resourceStatus?.manifests ?? []).map((entry) => {
    let own: Condition[] = [...(entry.conditions ?? [])];
    for (const type of [...types, STATUS_FEEDBACK_SYNCED])
      if (findCondition(own, type)) own = withWorkCondition(own, unknown(type, away), nowMs);
    return { ...entry, conditions: own };
  });
  return { ...work.status, conditions, resourceStatus: { ...work.status?.resourceStatus, manifests: withinBounds(manifests) } };
}

const countOf = (manifests: readonly ManifestStatus[], type: string, status: Condition['status']): number =>
  manifests.filter(({ conditions }) => findCondition(conditions, type)?.status === status).length;

function appliedWork(manifests: readonly ManifestStatus[]): Verdict {
  if (manifests.length > 0 && countOf(manifests, WORK_APPLIED, 'True') === manifests.length)
    return { type: WORK_APPLIED, status: 'True', reason: 'AppliedManifestWorkComplete', message: 'Apply manifest work complete' };
  const unknown = countOf(manifests, WORK_APPLIED, 'Unknown');
  if (unknown > 0 && unknown + countOf(manifests, WORK_APPLIED, 'True') === manifests.length)
    return {
      type: WORK_APPLIED,
      status: 'Unknown',
      reason: AWAY,
      message: `${unknown} of ${manifests.length} manifests wait for an answer`,
    };
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
