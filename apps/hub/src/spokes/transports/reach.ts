/** Reaches a spoke by the transport of its attempt, and applies what was planned for it. */

import { type KubeObject, Label, type Resource } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import { type Choice, chooseTransport, type Transport, type UpgradeIdentity } from '@flotilla/rollout';
import type { Client, Logger } from '@flotilla/runtime';
import { BY_WORK_AND_CLUSTER, type SpokeJobCaches, spokeKey } from '../../caches.ts';
import { hubObjectsOf } from '../../lookups.ts';
import { applyWrites, type Ownership, type Write } from '../../writes/apply.ts';
import { ActionAnnotation, isLeftover } from './actions/hub-objects.ts';
import { observeActions, toObservation } from './actions/observe.ts';
import { ActionsEffects } from './actions/plan.ts';
import type { ObjectPlace, SpokeJobNames, SpokeReach } from './port/port.ts';
import { isFrozen } from './work/manifest-work.ts';
import { observeWork } from './work/observe.ts';
import { WorkEffects } from './work/plan.ts';

/** Spoke and upgrade to reach. */
interface ReachInput {
  readonly job: { readonly work: string; readonly names: SpokeJobNames };
  readonly upgradeUid: string;
  readonly cluster: string;
  /** Transport where nothing was begun; default: actions. */
  readonly transport?: Transport | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Reaches a spoke by the transport that was begun there, or by the chosen one. */
export function reachSpoke(caches: SpokeJobCaches, { job, upgradeUid, cluster, transport = 'actions', now }: ReachInput): SpokeReach {
  const managed = caches.clusters.get({ name: cluster });
  const { views, actions, works } = hubObjectsOf(caches, spokeKey(job.work, upgradeUid, cluster));
  const byActions = observeActions(job.names, upgradeUid, { cluster: managed, views, actions });
  const [work] = works;
  const by = begunTransport({ views, actions, work }) ?? chooseTransport({ transport, managed, isServed: caches.works.present }).by;
  const isDetached = managed === undefined;
  const tried = work && { work, isDetached };
  if (by === 'actions')
    return {
      by,
      spoke: toObservation(job.names, byActions),
      effects: (task, state, plan) => new ActionsEffects(task, byActions, state, plan, tried),
    };
  const other = othersWork(caches, `${job.work}/${cluster}`, work);
  const spoke = observeWork(job.names, { cluster: managed, work, other, isClearing: actions.length > 0, now });
  const mayFallBack = transport === 'auto';
  return {
    by,
    spoke,
    effects: (task, state, plan) =>
      new WorkEffects(task, { observed: spoke, work, other, actions: byActions, isDetached, mayFallBack }, state, plan),
  };
}

const othersWork = ({ works }: SpokeJobCaches, key: string, own: ManifestWork | undefined): ManifestWork | undefined =>
  works.byIndex(BY_WORK_AND_CLUSTER, key).find((work) => work !== own);

/** Logs once for each upgrade the transport of its clusters, and the reason. */
export function logTransports(
  { caches: { clusters, works }, logger }: { readonly caches: SpokeJobCaches; readonly logger: Logger },
  { work, transport = 'actions' }: { readonly work: string; readonly transport?: Transport | undefined },
  { upgrade, clusters: names }: { readonly upgrade: UpgradeIdentity; readonly clusters: readonly string[] },
): void {
  const counts = new Map<string, { by: Choice['by']; count: number }>();
  for (const name of names) {
    const { by, reason } = chooseTransport({ transport, managed: clusters.get({ name }), isServed: works.present });
    counts.set(reason, { by, count: (counts.get(reason)?.count ?? 0) + 1 });
  }
  for (const [reason, { by, count }] of counts)
    logger.info({ work, upgrade: upgrade.name, by, clusters: count, reason }, 'Reaching clusters');
}

/** True while objects of an upgrade's job hold the spoke. A frozen work, which waits for the upgrade's end, does not. */
export function holdsSpoke(caches: SpokeJobCaches, work: string, upgradeUid: string, cluster: string): boolean {
  const { views, actions, works } = hubObjectsOf(caches, spokeKey(work, upgradeUid, cluster));
  return views.length > 0 || actions.length > 0 || works.some((each) => !isFrozen(each));
}

/** True for a leftover: it blocks nobody, because the next attempt removes it first. */
export const isLeftBehind = (object: Parameters<typeof isFrozen>[0] & Parameters<typeof isLeftover>[0]): boolean =>
  isLeftover(object) || isFrozen(object);

/** Returns the transport that was begun, if any. A view proves actions, even after a work was tried. */
export function begunTransport(objects: {
  readonly views: readonly KubeObject[];
  readonly actions: readonly KubeObject[];
  readonly work: ManifestWork | undefined;
}): Choice['by'] | undefined {
  if (objects.views.some((view) => !isLeftover(view))) return 'actions';
  if (objects.work) return 'work';
  // Actions may clear another attempt's objects before a work begins.
  return objects.actions.some(({ metadata }) => metadata.annotations?.[ActionAnnotation.deletes] !== 'before') ? 'actions' : undefined;
}

/** Dependencies of `applySpokePlan`. */
export interface ApplyPlanDeps {
  readonly client: Client;
  readonly caches: Pick<SpokeJobCaches, 'views' | 'actions' | 'works'> & Partial<Pick<SpokeJobCaches, 'clusters'>>;
  /** Stops further writes. */
  readonly signal: AbortSignal;
}

/** Applies the writes of one spoke's part of an upgrade. Idempotent; safe to stop anywhere. */
export async function applySpokePlan(
  { writes }: { readonly writes: readonly Write[] },
  place: Pick<ObjectPlace, 'job' | 'upgrade'>,
  { client, caches, signal }: ApplyPlanDeps,
): Promise<void> {
  const { views, actions, works, clusters } = caches;
  const decide = (existing: KubeObject, kind: Resource) => decideOwner(existing, kind, place);
  await applyWrites(writes, { client, signal, caches: [views, actions, works, ...(clusters ? [clusters] : [])], decideOwner: decide });
}

/** Another program's object proves nothing and is replaced; the watch reports another upgrade's work. */
function decideOwner({ metadata }: KubeObject, kind: Resource, { job, upgrade }: Pick<ObjectPlace, 'job' | 'upgrade'>): Ownership {
  const isOurs = kind === ManifestWork ? metadata.labels?.[Label.work] === job.work : metadata.labels?.[Label.upgradeUid] === upgrade.uid;
  return isOurs ? 'ours' : 'leftover';
}
