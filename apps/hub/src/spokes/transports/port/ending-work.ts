/** Ends a job's ManifestWork: its agent cleans the spoke first; the hub removes a work that no agent ever answered. Pure. */
import { findCondition, type KubeObject } from '@flotilla/api';
import { ManifestWork, WORK_APPLIED, WORK_FINALIZER } from '@flotilla/api/ocm';
import type { SpokePlan } from './port.ts';

/** Milliseconds without an answer before a work on an available cluster counts as unanswered. Agents take a second (spec/ocm 4.3). */
export const UNANSWERED_MS = 60_000;

/** Cluster of a work, as far as its agent may answer. */
interface AnsweringCluster {
  readonly available: boolean;
  /** The cluster does not belong to this hub any more. */
  readonly isDetached: boolean;
}

/** True for a work under deletion. */
export const isLeaving = (work: ManifestWork | undefined): boolean => work?.metadata.deletionTimestamp !== undefined;

/** Creation time of an object by the hub's server, milliseconds since the epoch; 0 without one. */
export const createdAt = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp ?? '') || 0;

/** True once an agent has reported on the work. */
export const isAnswered = ({ status }: ManifestWork): boolean => findCondition(status?.conditions, WORK_APPLIED) !== undefined;

/**
 * Plans the deletion of a work, and removes our own finalizer where no agent will. The patch's resourceVersion leaves the work to an agent that
 * answers at the same moment.
 */
export function endWork(plan: SpokePlan, work: ManifestWork, cluster: AnsweringCluster): void {
  const lateAt = createdAt(work) + UNANSWERED_MS;
  const { namespace, name, uid, resourceVersion, finalizers = [] } = work.metadata;
  const isHeld = !isAnswered(work) && finalizers.includes(WORK_FINALIZER);
  if (isHeld && (cluster.isDetached || (cluster.available && plan.now >= lateAt))) {
    const others = finalizers.filter((finalizer) => finalizer !== WORK_FINALIZER);
    const patch = { metadata: { uid, resourceVersion, finalizers: others } };
    plan.add({ verb: 'patch', kind: ManifestWork, ref: { namespace, name }, patch });
  } else if (isHeld && cluster.available) plan.requeue(lateAt);
  if (!isLeaving(work)) plan.add({ verb: 'delete', kind: ManifestWork, ref: { namespace, name }, uid: uid ?? '' });
}
