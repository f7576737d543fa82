/** How a ManifestWork of a job ends: by its agent, which cleans the spoke first, or by the hub where no agent ever said anything of it. Pure. */
import { findCondition } from '@flotilla/api';
import { ManifestWork, WORK_APPLIED, WORK_FINALIZER } from '@flotilla/api/ocm';
import type { SpokePlan } from './spoke-plan.ts';

/** A work of which no agent has said anything for this long is not answered, while its cluster is available. Agents take a second (spec/ocm 4.3). */
export const UNANSWERED_MS = 60_000;

/** Whether anybody is there to answer. */
interface AnsweringCluster {
  readonly available: boolean;
  /** It is no cluster of this hub any more. */
  readonly isDetached: boolean;
}

/** True for a work that is on its way out. */
export const isLeaving = (work: ManifestWork | undefined): boolean => work?.metadata.deletionTimestamp !== undefined;

/** When the hub's server took a work, milliseconds since the epoch. */
export const createdAt = ({ metadata }: ManifestWork): number => Date.parse(metadata.creationTimestamp ?? '') || 0;

/** True once an agent has said anything about a work. */
export const isAnswered = ({ status }: ManifestWork): boolean => findCondition(status?.conditions, WORK_APPLIED) !== undefined;

/**
 * Plans the deletion of a work, and takes away the finalizer that it was made with where nobody else will. Where an agent says something
 * at the same moment, the work is its own again.
 */
export function endWork(plan: SpokePlan, work: ManifestWork, cluster: AnsweringCluster): void {
  const lateAt = createdAt(work) + UNANSWERED_MS;
  const { namespace, name, uid, resourceVersion, finalizers = [] } = work.metadata;
  const isHeld = !isAnswered(work) && finalizers.includes(WORK_FINALIZER);
  if (isHeld && (cluster.isDetached || (cluster.available && plan.now >= lateAt))) {
    const others = finalizers.filter((finalizer) => finalizer !== WORK_FINALIZER);
    const patch = { metadata: { uid, resourceVersion, finalizers: others } };
    plan.add({ verb: 'patch', kind: ManifestWork, ref: { namespace, name }, patch });
  } else if (isHeld && cluster.available) plan.wake(lateAt);
  if (!isLeaving(work)) plan.add({ verb: 'delete', kind: ManifestWork, ref: { namespace, name }, uid: uid ?? '' });
}
