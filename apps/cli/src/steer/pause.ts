import { Annotation, findCondition, refKey } from '@flotilla/api';
import { hasEnded, type StatusAnswer } from '@flotilla/api/answers';
import { ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { findPause } from '@flotilla/rollout';
import { type Client, checkOptions } from '@flotilla/runtime';
import { FactStore } from '../hub/fact-store.ts';
import { readUpgrade, type UpgradeRef } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { judgeStatus } from '../status/ask.ts';
import { type Change, type PlannedChange, steer } from './change.ts';
import { openClusters, pauseEffects, resumeEffects } from './effects.ts';
import { PauseOptions, SteerOptions } from './options.ts';
import { untilTakenUp } from './taken-up.ts';

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

/** An upgrade, and how far it is by itself alone. */
export async function look(
  client: Client,
  ref: UpgradeRef,
  hubNamespace: string,
): Promise<{ upgrade: ClusterGroupUpgrade; status: StatusAnswer }> {
  const upgrade = await readUpgrade(client, ref);
  return { upgrade, status: await judgeStatus(new FactStore({ client, hubNamespace }), upgrade) };
}

/** The hub's own words on the upgrade's pause. */
const pausedOf = ({ status }: ClusterGroupUpgrade) => findCondition(status?.conditions, ClusterGroupUpgradeCondition.paused);
