/** What actions and views say of one spoke, read from watch caches alone. */

import { Annotation, Label } from '@flotilla/api';
import { JobStatus } from '@flotilla/api/core';
import type { ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import type { ActionOutcome } from '@flotilla/rollout';
import { countOf, isAvailable, observeOutcome, readViewAnswer, type ViewTarget } from '@flotilla/rollout';
import { z } from 'zod';
import type { Answer, Failure, Sight, SpokeObservation } from '../port/port.ts';
import { isRefusal, RETRY_BUDGET } from '../port/refusals.ts';
import { reportOf, trimText } from '../port/report.ts';
import type { SpokeJobNames, ViewDefinition } from '../port/workload.ts';
import { ActionAnnotation } from './hub-objects.ts';

/** A view of the hub as far as a step needs it. */
export interface ViewObservation {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly ours: boolean;
  readonly intervalSeconds: number;
  /** Of the spec it was made for; absent where specs are not told apart. */
  readonly digest: string | undefined;
  readonly answer: Answer;
  /** Why the spoke is not reached by a work, where one was tried. */
  readonly fallback?: string | undefined;
}

/** An action of the hub as far as a step needs it. */
export interface ActionObservation extends ActionOutcome {
  readonly uid: string;
  readonly ours: boolean;
  readonly template: string | undefined;
  /** How many of its retries count against the budget. */
  readonly refusals: number;
  /** Of a deletion: `before` or `after` the workload. */
  readonly deletes: string | undefined;
  /** Of the spec it was made for; absent where specs are not told apart. */
  readonly digest: string | undefined;
}

/** The actions and views of one spoke, for one upgrade. */
export interface ActionsSpoke {
  readonly available: boolean;
  readonly namespaceView: ViewObservation | undefined;
  readonly jobView: ViewObservation | undefined;
  readonly actions: ReadonlyMap<string, ActionObservation>;
  /** What all of it was read from; default: nothing. */
  readonly cached?: Pick<CachedSpoke, 'views' | 'actions'>;
}

/** Longer ones do not exist in Kubernetes. */
const Name = z.string().max(253);

/** The parts of a viewed object that decide something. */
const ViewedObject = z.object({
  kind: Name,
  metadata: z.object({
    name: Name,
    namespace: Name.optional(),
    deletionTimestamp: Name.optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  status: z.unknown().optional(),
});

/** The same of an answer that may not say whose it is. */
const AnyObject = ViewedObject.partial().extend({ metadata: ViewedObject.shape.metadata.partial().optional() });

/** Whose an object on a spoke is, what it was made for, and how far it is. */
const KEPT_ANNOTATIONS = [Annotation.upgradeUid, Annotation.specDigest, Annotation.progress];
/** Longer ones are not the hub's. */
const MAX_MARK = 256;

/** Drops what no step reads, so that thousands of views fit in memory. */
export function trimView(view: ManagedClusterView): ManagedClusterView {
  const parsed = AnyObject.safeParse(view.status?.result);
  if (!parsed.success) return { ...view, ...(view.status && { status: { conditions: view.status.conditions, result: undefined } }) };
  const { kind, metadata, status } = parsed.data;
  const kept = KEPT_ANNOTATIONS.flatMap((name) => {
    const value = metadata?.annotations?.[name];
    return value === undefined ? [] : [[name, name === Annotation.progress ? trimText(value) : value.slice(0, MAX_MARK)]];
  });
  const trimmed = {
    kind,
    metadata: { ...metadata, annotations: kept.length > 0 ? Object.fromEntries(kept) : undefined },
    status: kind === 'Job' || kind === undefined ? trimJobStatus(status) : undefined,
  };
  return { ...view, status: { conditions: view.status?.conditions, result: trimmed } };
}

/** What a verdict needs; a malformed status stays one. */
function trimJobStatus(status: unknown): unknown {
  const parsed = JobStatus.safeParse(status ?? {});
  if (!parsed.success) return 'malformed';
  const { active, ready, succeeded, conditions } = parsed.data;
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  return {
    active,
    ready,
    succeeded,
    ...(failed && { conditions: [{ ...failed, reason: failed.reason?.slice(0, 256), message: failed.message?.slice(0, 256) }] }),
  };
}

/** Drops templates and echoes, which no step reads. */
export function trimAction(action: ManagedClusterAction): ManagedClusterAction {
  return {
    ...action,
    spec: { actionType: action.spec?.actionType },
    ...(action.status && { status: { conditions: action.status.conditions, result: undefined } }),
  };
}

/** A spoke's objects as the caches hold them: those of one kind of job, of one upgrade. */
export interface CachedSpoke {
  readonly cluster: ManagedCluster | undefined;
  readonly views: readonly ManagedClusterView[];
  readonly actions: readonly ManagedClusterAction[];
}

/** Reads the cached objects of one spoke. */
export function observeActions(names: SpokeJobNames, upgradeUid: string, { cluster, views, actions }: CachedSpoke): ActionsSpoke {
  const view = (wanted: ViewDefinition | undefined) => {
    const found = views.find(({ metadata }) => metadata.name === wanted?.name);
    return found && wanted && observeView(upgradeUid, found, wanted);
  };
  return {
    available: isAvailable(cluster),
    namespaceView: view(names.views.namespace),
    jobView: view(names.views.job),
    actions: new Map(actions.map((action) => [action.metadata.name, observeAction(upgradeUid, action)])),
    cached: { views, actions },
  };
}

/** What they come to, in the words of the port. */
export function toObservation({ actions: { createJob } }: Pick<SpokeJobNames, 'actions'>, seen: ActionsSpoke): SpokeObservation {
  const { available, namespaceView, jobView, actions } = seen;
  const views = [namespaceView, jobView].filter((view) => view?.ours === true);
  const objects = [...views, ...[...actions.values()].filter(({ ours }) => ours)];
  const answer = jobView?.ours ? jobView.answer : undefined;
  const made = answer?.kind === 'found' ? answer.object.metadata.annotations?.[Annotation.specDigest] : undefined;
  return {
    available,
    isHeld: namespaceView !== undefined || jobView !== undefined || actions.size > 0,
    // The first view: it outlives a process.
    since: startOf(seen),
    digests: [...objects.map((object) => object?.digest), made].filter((digest) => digest !== undefined),
    namespace: sightOf(namespaceView),
    job: sightOf(jobView),
    report: reportOf(answer),
    failure: failureOf(actions),
    losses: actions.get(createJob)?.refusals ?? 0,
    note: namespaceView?.fallback && `${namespaceView.fallback}; going on by actions and views`,
  };
}

function startOf({ namespaceView, jobView }: ActionsSpoke): number | undefined {
  const created = [namespaceView, jobView].flatMap((view) => (view?.ours ? [view.createdAt] : []));
  return created.length > 0 ? Math.min(...created) : undefined;
}

const sightOf = (view: ViewObservation | undefined): Sight | undefined =>
  view?.ours ? { since: view.createdAt, answer: view.answer } : undefined;

/** An action that failed again after it was created anew; one that has used up its budget goes first. */
function failureOf(actions: ActionsSpoke['actions']): Failure | undefined {
  const failing = [...actions].filter(([, action]) => action.ours && action.outcome === 'failed' && action.retries > 0);
  const isExhausted = (action: ActionObservation) => action.refusals >= RETRY_BUDGET && isRefusal(action.message);
  const [name, action] = failing.find(([, each]) => isExhausted(each)) ?? failing[0] ?? [];
  return action && { message: `${name}: ${action.message}`, finalAt: isExhausted(action) ? 0 : undefined };
}

function observeView(upgradeUid: string, view: ManagedClusterView, { target, trusted }: ViewDefinition): ViewObservation {
  return {
    uid: view.metadata.uid ?? '',
    createdAt: Date.parse(view.metadata.creationTimestamp ?? '') || 0,
    ours: view.metadata.labels?.[Label.upgradeUid] === upgradeUid,
    intervalSeconds: view.spec?.scope?.updateIntervalSeconds ?? 0,
    digest: view.metadata.annotations?.[Annotation.specDigest],
    answer: readAnswer(view, target, trusted),
    fallback: view.metadata.annotations?.[ActionAnnotation.fallback],
  };
}

/** Reads a view of a job's object. @param trusted whatever it says of whose it is */
export const readAnswer = (view: ManagedClusterView, target: ViewTarget, trusted = false): Answer =>
  readViewAnswer(view, ViewedObject, target, { trusted });

function observeAction(upgradeUid: string, action: ManagedClusterAction): ActionObservation {
  const { uid = '', labels, annotations } = action.metadata;
  return {
    ...observeOutcome(action),
    uid,
    ours: labels?.[Label.upgradeUid] === upgradeUid,
    template: annotations?.[ActionAnnotation.template],
    refusals: countOf(annotations?.[ActionAnnotation.refusals]),
    deletes: annotations?.[ActionAnnotation.deletes],
    digest: annotations?.[Annotation.specDigest],
  };
}
