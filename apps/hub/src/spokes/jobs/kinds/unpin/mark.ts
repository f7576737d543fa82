/** Marks on clusters that owe the removal of an ended upgrade's pins. A mark outlives the upgrade and this process, and waits for clusters that are away. */
import { OWED_PINS } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, hasFailedPrecache, PIN_LIFE_MS, type PinWay } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import { identityOf, keepsObjects, strongerPins } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import type { SpokeJobCaches } from '../../../../caches.ts';
import { applyWrites, type Write } from '../../../../writes/apply.ts';
import type { ApplyPlanDeps } from '../../../transports/reach.ts';
import type { PrecacheSettings } from '../precache/inputs.ts';
import { type PrecacheJob, pinsWanted } from '../precache/job.ts';

/** Uids as the puller takes them. */
const UID = /^[0-9a-f]([0-9a-f-]{0,61}[0-9a-f])?$/;
/** Value of a mark: the puller's image, of at most 512 characters, then `pinned-image-set` where there may be sets, the failures so far, and `!` while what the last one left is removed. */
const VALUE = /^(?<image>\S{0,512})(?<sets> pinned-image-set)?(?: (?<failures>\d)(?<cleaning>!?))?$/;

/** Pins that are owed to a cluster. */
export interface OwedPins {
  /** Image of the upgrade's puller. */
  readonly image: string;
  /** Way by which they were made; by sets too where it changed. */
  readonly way: PinWay;
  /** Jobs that failed to remove them. */
  readonly failures: number;
  /** Removal of what the last failed job left comes before the next one. */
  readonly isCleaning: boolean;
}

/** The value of a mark. */
export const markOf = ({ image, way, failures, isCleaning }: OwedPins): string =>
  `${image}${way === 'runtime' ? '' : ` ${way}`}${failures === 0 ? '' : ` ${failures}${isCleaning ? '!' : ''}`}`;

/** Pins of ended upgrades that may be on the cluster, by the uids of these. A malformed mark is nobody's. */
export function owedPins(cluster: ManagedCluster | undefined): ReadonlyMap<string, OwedPins> {
  const marks = Object.entries(cluster?.metadata.annotations ?? {}).filter(([key]) => key.startsWith(OWED_PINS));
  return new Map(
    marks.flatMap(([key, value]) => {
      const uid = key.slice(OWED_PINS.length);
      const { image, sets, failures = '0', cleaning } = VALUE.exec(value)?.groups ?? {};
      if (!UID.test(uid) || image === undefined) return [];
      const way = sets === undefined ? 'runtime' : 'pinned-image-set';
      return [[uid, { image, way, failures: Number(failures), isCleaning: cleaning === '!' }] as const];
    }),
  );
}

/** The change of a ManagedCluster that marks it, or takes the mark away. @param owed null for no mark */
export const markPatch = ({ metadata: { name, uid } }: ManagedCluster, upgradeUid: string, owed: OwedPins | null): Write => ({
  verb: 'patch',
  kind: ManagedCluster,
  ref: { name },
  patch: { metadata: { uid, annotations: { [`${OWED_PINS}${upgradeUid}`]: owed && markOf(owed) } } },
});

/** Clusters that are marked at the same time. */
const PARALLEL = 16;

/** Marks clusters on which pins of an ended upgrade may be. @param image of the upgrade's puller */
export async function owePins(
  clusters: readonly string[],
  { uid, image, way }: { readonly uid: string } & Pick<OwedPins, 'image' | 'way'>,
  { client, caches, signal }: Omit<ApplyPlanDeps, 'caches'> & { readonly caches: Pick<SpokeJobCaches, 'clusters'> },
): Promise<void> {
  const unmarked = clusters.flatMap((name) => {
    const managed = caches.clusters.get({ name });
    return managed && owedPins(managed).get(uid) === undefined ? [managed] : [];
  });
  const deps = { client, signal, caches: [caches.clusters], decideOwner: () => 'ours' as const };
  await mapConcurrently(unmarked, PARALLEL, (managed) =>
    applyWrites([markPatch(managed, uid, { image, way, failures: 0, isCleaning: false })], deps),
  );
}

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
