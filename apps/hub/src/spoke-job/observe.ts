/** What the hub can know of one spoke, read from watch caches alone. */

import { Annotation, Label } from '@flotilla/api';
import { JobStatus } from '@flotilla/api/core';
import type { ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { PullerReport } from '@flotilla/api/ran';
import type { ActionOutcome } from '@flotilla/rollout';
import { countOf, isAvailable, observeOutcome, readViewAnswer, type ViewAnswer, type ViewTarget } from '@flotilla/rollout';
import { z } from 'zod';
import type { SpokeJobNames, ViewDefinition } from './definition.ts';
import { ActionAnnotation } from './hub-objects.ts';

/** What a view of a job says. */
export type Answer = ViewAnswer<ViewedObject>;

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

/** One spoke, for one upgrade. */
export interface SpokeObservation {
  readonly available: boolean;
  readonly namespaceView: ViewObservation | undefined;
  readonly jobView: ViewObservation | undefined;
  readonly progressView: ViewObservation | undefined;
  readonly actions: ReadonlyMap<string, ActionObservation>;
}

/** The parts of a viewed object that decide something. */
const ViewedObject = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  status: z.unknown().optional(),
  data: z.record(z.string(), z.string()).nullish(),
});
export type ViewedObject = z.output<typeof ViewedObject>;

/** Whose an object on a spoke is, and what it was made for. */
const KEPT_ANNOTATIONS = [Annotation.upgradeUid, Annotation.specDigest];

/** Drops what no step reads, so that thousands of views fit in memory. */
export function trimView(view: ManagedClusterView): ManagedClusterView {
  const parsed = ViewedObject.safeParse(view.status?.result);
  if (!parsed.success) return { ...view, ...(view.status && { status: { conditions: view.status.conditions, result: undefined } }) };
  const { kind, metadata, status, data } = parsed.data;
  const kept = KEPT_ANNOTATIONS.flatMap((name) => {
    const value = metadata.annotations?.[name];
    return value === undefined ? [] : [[name, value]];
  });
  const trimmed = {
    kind,
    metadata: { ...metadata, annotations: kept.length > 0 ? Object.fromEntries(kept) : undefined },
    status: kind === 'Job' ? trimJobStatus(status) : undefined,
    data: kind === 'ConfigMap' ? { progress: data?.progress ?? '' } : undefined,
  };
  return { ...view, status: { conditions: view.status?.conditions, result: trimmed } };
}

/** What a verdict needs; a malformed status stays one. */
function trimJobStatus(status: unknown): unknown {
  const parsed = JobStatus.safeParse(status ?? {});
  if (!parsed.success) return 'malformed';
  const { active, ready, succeeded, conditions } = parsed.data;
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  return { active, ready, succeeded, ...(failed && { conditions: [{ ...failed, message: failed.message?.slice(0, 256) }] }) };
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

/** Builds the observation of one spoke from its cached objects. */
export function observeSpoke(names: SpokeJobNames, upgradeUid: string, { cluster, views, actions }: CachedSpoke): SpokeObservation {
  const view = (wanted: ViewDefinition | undefined) => {
    const found = views.find(({ metadata }) => metadata.name === wanted?.name);
    return found && wanted && observeView(upgradeUid, found, wanted);
  };
  return {
    available: isAvailable(cluster),
    namespaceView: view(names.views.namespace),
    jobView: view(names.views.job),
    progressView: view(names.views.progress),
    actions: new Map(actions.map((action) => [action.metadata.name, observeAction(upgradeUid, action)])),
  };
}

/** The clock of a spoke starts with its first view, which outlives a process: time spent waiting for another upgrade does not count. */
export function startOf({ namespaceView, jobView }: SpokeObservation): number | undefined {
  const created = [namespaceView, jobView].flatMap((view) => (view?.ours ? [view.createdAt] : []));
  return created.length > 0 ? Math.min(...created) : undefined;
}

function observeView(upgradeUid: string, view: ManagedClusterView, { target }: ViewDefinition): ViewObservation {
  return {
    uid: view.metadata.uid ?? '',
    createdAt: Date.parse(view.metadata.creationTimestamp ?? '') || 0,
    ours: view.metadata.labels?.[Label.upgradeUid] === upgradeUid,
    intervalSeconds: view.spec?.scope?.updateIntervalSeconds ?? 0,
    digest: view.metadata.annotations?.[Annotation.specDigest],
    answer: readAnswer(view, target),
  };
}

/** Reads a view of a job's object. */
export const readAnswer = (view: ManagedClusterView, target: ViewTarget): Answer => readViewAnswer(view, ViewedObject, target);

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

/** The puller's report in an answer about its ConfigMap; undefined when there is none or it is malformed. */
export function readReport(answer: Answer | undefined): PullerReport | undefined {
  if (answer?.kind !== 'found') return undefined;
  const text = answer.object.data?.progress ?? '';
  if (text.length === 0 || text.length > 65_536) return undefined;
  try {
    return PullerReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON: an older or foreign puller; progress is not shown, nothing else depends on it
  }
}
