/** Has pins removed once their upgrade ends: its clusters are marked, and the mark outlives the upgrade. */
import { type ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, hasFailedPrecache, PIN_LIFE_MS, type PinWay } from '@flotilla/api/ran';
import { identityOf, keepsObjects, strongerPins } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import type { SpokeJobCaches } from '../caches.ts';
import type { PrecacheSettings } from '../spokes/jobs/kinds/precache/inputs.ts';
import { type PrecacheJob, pinsWanted } from '../spokes/jobs/kinds/precache/job.ts';
import { owePins } from '../spokes/jobs/kinds/unpin/mark.ts';

/** Dependencies of `owePinsOf`. */
export interface PinsDeps {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Stops writes. */
  readonly signal: AbortSignal;
  readonly precaching: { readonly jobs: { readonly job: PrecacheJob }; readonly settings: PrecacheSettings };
}

/**
 * Marks the clusters of an upgrade that has ended, if it had pins: they are removed by themselves from then on (spokes/jobs/kinds/unpin).
 * @returns way of the pins that it had; undefined where there were none, or they were owed before
 */
export async function owePinsOf(
  upgrade: ClusterGroupUpgrade,
  { client, caches, now, signal, precaching }: PinsDeps,
): Promise<PinWay | undefined> {
  const { pins, status: states = {} } = upgrade.status?.precaching ?? {};
  // An older CRD keeps no such field.
  const way = strongerPins(pins, pinsWanted(upgrade, precaching.settings));
  if (way === undefined || wereOwed(upgrade, now())) return undefined;
  // A failed job that is kept for its users has made no pins on its node, and is not taken from them.
  const clusters = Object.entries(states).flatMap(([cluster, state]) =>
    state === 'NotStarted' || (hasFailedPrecache(state) && keepsObjects(upgrade)) ? [] : [cluster],
  );
  const image = precaching.jobs.job.inputsIn(upgrade)?.image ?? '';
  await owePins(clusters, { uid: identityOf(upgrade).uid, image, way }, { client, caches, signal });
  return way;
}

/** They were owed when the upgrade ended, unless a hub ended it that knew no pins: it has dropped what the status said of them. */
function wereOwed({ status }: ClusterGroupUpgrade, now: number): boolean {
  const { completedAt } = status?.status ?? {};
  if (completedAt === undefined) return false;
  return status?.precaching?.pins !== undefined || now > Date.parse(completedAt) + PIN_LIFE_MS;
}

/** Says of an ended upgrade that it had pins, so that no later leader looks for them again. */
export const withPins = (status: ClusterGroupUpgradeStatus, pins: PinWay | 'settled'): ClusterGroupUpgradeStatus =>
  pins === 'settled' || !status.precaching ? status : { ...status, precaching: { ...status.precaching, pins } };
