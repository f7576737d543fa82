import { Annotation, findCondition, refKey } from '@flotilla/api';
import { hasEnded, type StatusAnswer } from '@flotilla/api/answers';
import { ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { findPause } from '@flotilla/rollout';
import { type Client, checkOptions } from '@flotilla/runtime';
import { type UpgradeRef, untilTakenUp } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { type Change, count, look, openClusters, type PlannedChange, steer } from './change.ts';
import { PauseOptions, SteerOptions } from './options.ts';

/** `flotilla pause CGU`. */
export const pauseUpgrade: Run = async ([name = ''], given) => {
  const options = checkOptions(PauseOptions, given);
  await steer(options, ({ client, refOf }) => planPause(client, refOf(name), options));
};

/** `flotilla resume CGU`. */
export const resumeUpgrade: Run = async ([name = ''], given) => {
  const options = checkOptions(SteerOptions, given);
  await steer(options, ({ client, refOf }) => planResume(client, refOf(name), options));
};

/** Where the hub's Lease is, and why it is done. */
interface PausePlan {
  readonly hubNamespace: string;
  readonly reason?: string | undefined;
  /** Stop pulls that run, too; default: they end by themselves. */
  readonly now?: boolean;
}

/** The change that pauses an upgrade, or why there is nothing to pause. */
export async function planPause(
  client: Client,
  ref: UpgradeRef,
  { hubNamespace, reason: given, now = false }: PausePlan,
): Promise<PlannedChange<ClusterGroupUpgrade>> {
  const { upgrade, status } = await look(client, ref, hubNamespace);
  if (hasEnded(status)) return { refused: `${refKey(ref)} has ended (${status.stage}): there is nothing to pause` };
  const value = now ? 'stop' : 'drain';
  // One that was given before stays.
  const reason = given ?? upgrade.metadata.annotations?.[Annotation.pausedReason];
  const wanted = { [Annotation.paused]: value, ...(reason !== undefined && { [Annotation.pausedReason]: reason }) };
  const said = findPause({ metadata: { annotations: wanted } })?.message;
  return {
    kind: ClusterGroupUpgrade,
    object: upgrade,
    annotations: { [Annotation.paused]: value, [Annotation.pausedReason]: reason },
    clusters: openClusters(status),
    says: pauseEffects(status, now),
    undo: { action: 'resume' },
    untilTakenUp: () => untilTakenUp(client, ref, (seen) => pausedOf(seen)?.message === said),
  };
}

/** The change that ends the pause of an upgrade. */
export async function planResume(
  client: Client,
  ref: UpgradeRef,
  { hubNamespace }: Pick<PausePlan, 'hubNamespace'>,
): Promise<Change<ClusterGroupUpgrade>> {
  const { upgrade, status } = await look(client, ref, hubNamespace);
  const reason = upgrade.metadata.annotations?.[Annotation.pausedReason];
  return {
    kind: ClusterGroupUpgrade,
    object: upgrade,
    annotations: { [Annotation.paused]: undefined, [Annotation.pausedReason]: undefined },
    clusters: openClusters(status),
    says: resumeEffects(status),
    whenSame: [`it is not paused: flotilla why ${ref.name} -n ${ref.namespace} says what it waits for`],
    undo: { action: 'pause', reason, stops: findPause(upgrade)?.stops === true },
    untilTakenUp: () => untilTakenUp(client, ref, (seen) => pausedOf(seen) === undefined),
  };
}

/** The hub's own words on the upgrade's pause. */
const pausedOf = ({ status }: ClusterGroupUpgrade) => findCondition(status?.conditions, ClusterGroupUpgradeCondition.paused);

/** Sentences on a pause of an upgrade as it is now. @param now pulls are stopped and policies not enforced, else what runs ends by itself */
export function pauseEffects({ clusters, cached, batch }: Pick<StatusAnswer, 'clusters' | 'cached' | 'batch'>, now: boolean): string[] {
  const inBatch = count(clusters.inBatch, 'cluster', 'clusters');
  const pulls = cached?.pulling ?? 0;
  const unbegun = cached ? cached.of - cached.done - cached.failed - cached.pulling : 0;
  return [
    ...(clusters.inBatch > 0 ? [`${inBatch} in batch ${batch.current} ${now ? IN_BATCH_NOW : 'go on to their end'}`] : []),
    ...(pulls > 0 && now
      ? [`${count(pulls, 'pull is', 'pulls are')} stopped, and ${pulls === 1 ? 'begins' : 'begin'} again after resume`]
      : []),
    ...(pulls > 0 && !now ? [`${count(pulls, 'pull ends', 'pulls end')} by themselves`] : []),
    ...(unbegun > 0 ? [`${count(unbegun, 'pull is', 'pulls are')} not begun`] : []),
    ...(clusters.left > 0 ? [`${count(clusters.left, 'cluster is', 'clusters are')} not begun`] : []),
    'time-outs stand still, windows do not',
  ];
}

/** A work that is taken away would be undone on its cluster. */
const IN_BATCH_NOW = 'cannot be stopped where they upgrade already: policies are not enforced on them meanwhile, ManifestWorks stay';

/** Sentences on the end of a pause. */
export function resumeEffects({ clusters, window }: Pick<StatusAnswer, 'clusters' | 'window'>): string[] {
  return [
    ...(clusters.left > 0 ? [`${count(clusters.left, 'cluster', 'clusters')} may begin as their batches come`] : []),
    'time-outs go on where they stood',
    ...(window.state === 'closed' ? [`the window is closed: ${window.says ?? 'no batch starts'}`] : []),
  ];
}
