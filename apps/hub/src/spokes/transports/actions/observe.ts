/** Observes one spoke by its actions and views, from watch caches alone. */

import { Annotation, Label } from '@flotilla/api';
import type { ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { earliest } from '@flotilla/pace';
import { type ActionOutcome, countOf, isAvailable, observeOutcome, readViewAnswer, type ViewTarget } from '@flotilla/rollout';
import { ViewedObject } from '../../../trims.ts';
import {
  type Answer,
  type Failure,
  isRefusal,
  RETRY_BUDGET,
  reportOf,
  type SpokeJobNames,
  type SpokeObservation,
  type ViewDefinition,
  type WatchedObject,
} from '../port/port.ts';
import { ActionAnnotation } from './hub-objects.ts';

/** A view on the hub, reduced to a step's needs. */
export interface ViewObservation {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly ours: boolean;
  readonly intervalSeconds: number;
  /** Digest of its spec; absent for jobs without digests. */
  readonly digest: string | undefined;
  readonly answer: Answer;
  /** Reason for which no work reaches the spoke, after one was tried. */
  readonly fallback?: string | undefined;
}

/** An action on the hub, reduced to a step's needs. */
export interface ActionObservation extends ActionOutcome {
  readonly uid: string;
  readonly ours: boolean;
  readonly template: string | undefined;
  /** Retries that count against the budget. */
  readonly refusals: number;
  /** Value `before` or `after` of a deletion. */
  readonly deletes: string | undefined;
  /** Digest of its spec; absent for jobs without digests. */
  readonly digest: string | undefined;
}

/** Actions and views of one spoke, for one upgrade. */
export interface ActionsSpoke {
  readonly available: boolean;
  readonly namespaceView: ViewObservation | undefined;
  readonly jobView: ViewObservation | undefined;
  readonly actions: ReadonlyMap<string, ActionObservation>;
  /** Cached objects behind the observation; default: none. */
  readonly cached?: Pick<CachedSpoke, 'views' | 'actions'>;
}

/** Cached objects of a spoke, for one kind of job and one upgrade. */
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

/** Translates them into an observation of the port. */
export function toObservation(
  { actions: { createJob }, nodes }: Pick<SpokeJobNames, 'actions' | 'nodes'>,
  spoke: ActionsSpoke,
): SpokeObservation {
  const { available, namespaceView, jobView, actions } = spoke;
  const views = [namespaceView, jobView].filter((view) => view?.ours === true);
  const objects = [...views, ...[...actions.values()].filter(({ ours }) => ours)];
  const answer = jobView?.ours ? jobView.answer : undefined;
  const made = answer?.kind === 'found' ? answer.object.metadata.annotations?.[Annotation.specDigest] : undefined;
  return {
    available,
    hasObjects: namespaceView !== undefined || jobView !== undefined || actions.size > 0,
    // The first view counts, because it outlives a process.
    since: startOf(spoke),
    digests: [...objects.map((object) => object?.digest), made].filter((digest) => digest !== undefined),
    namespace: watchedObjectOf(namespaceView),
    job: watchedObjectOf(jobView),
    report: reportOf(answer),
    ...failuresOf(actions, nodes?.actions ?? []),
    losses: actions.get(createJob)?.refusals ?? 0,
    note: namespaceView?.fallback && `${namespaceView.fallback}; going on by actions and views`,
  };
}

const startOf = ({ namespaceView, jobView }: ActionsSpoke): number | undefined =>
  earliest(...[namespaceView, jobView].map((view) => (view?.ours ? view.createdAt : undefined)));

const watchedObjectOf = (view: ViewObservation | undefined): WatchedObject | undefined =>
  view?.ours ? { since: view.createdAt, answer: view.answer } : undefined;

/** Finds actions that failed again after their recreation; exhausted ones come first. */
function failuresOf(actions: ActionsSpoke['actions'], ofNodes: readonly string[]): Pick<SpokeObservation, 'failure' | 'nodesFailure'> {
  const failing = [...actions].filter(([, action]) => action.ours && action.outcome === 'failed' && action.retries > 0);
  const isExhausted = (action: ActionObservation) => action.refusals >= RETRY_BUDGET && isRefusal(action.message);
  const exhausted = failing.filter(([, action]) => isExhausted(action));
  const describe = (found: readonly [string, ActionObservation] | undefined): Failure | undefined =>
    found && { message: `${found[0]}: ${found[1].message}`, finalAt: isExhausted(found[1]) ? 0 : undefined };
  return {
    failure: describe(exhausted[0] ?? failing[0]),
    nodesFailure: describe(exhausted.find(([name]) => ofNodes.includes(name))),
  };
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

/**
 * Reads a view of a job's object.
 * @param trusted accept the answer without checking its object's identity
 */
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
