/** Observes which pins of ended upgrades are still to be removed from a spoke, from caches alone. */
import { findCondition, Label, OWED_PINS } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster } from '@flotilla/api/ocm';
import type { PinWay } from '@flotilla/api/ran';
import { findHold, identityOf, type UpgradeIdentity } from '@flotilla/rollout';
import { BY_UID, type SpokeJobCaches, spokeKey } from '../../caches.ts';
import { hubObjectsOf, objectsIn } from '../../lookups.ts';
import { findDenial } from '../transports/denied-cluster.ts';
import type { SpokeReach } from '../transports/port/port.ts';
import { reachSpoke } from '../transports/reach.ts';
import { type PinsSettings, pinsJob } from './job.ts';

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

/** One spoke, and the pins of one ended upgrade. */
export interface ObservedPins {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly managed: ManagedCluster | undefined;
  /** Undefined when its pins are not owed, or not any more. */
  readonly owed: OwedPins | undefined;
  readonly reach: SpokeReach;
  /** The hub has objects of the job. */
  readonly hasBegun: boolean;
  /** The hub lets the cluster in, nobody holds it, and its agent answers. */
  readonly isThere: boolean;
  /** Since when its agent answers, milliseconds since the epoch. */
  readonly thereSince: number;
  /** The hub still has objects of the same upgrade's pre-caching there. */
  readonly isPrecached: boolean;
}

/** True when nothing is owed and nothing left. */
export const isOver = ({ owed, hasBegun }: ObservedPins): boolean => owed === undefined && !hasBegun;

/** Observes one spoke. */
export function observePins(
  { uid, cluster }: { readonly uid: string; readonly cluster: string },
  caches: SpokeJobCaches,
  { transport, now }: Pick<PinsSettings, 'transport'> & { readonly now: number },
): ObservedPins {
  const managed = caches.clusters.get({ name: cluster });
  const reach = reachSpoke(caches, { job: pinsJob, upgradeUid: uid, cluster, transport, now });
  const { views, actions, works } = hubObjectsOf(caches, spokeKey(pinsJob.work, uid, cluster));
  const objects = [...views, ...actions, ...works];
  const changedAt = Date.parse(findCondition(managed?.status?.conditions, CLUSTER_AVAILABLE)?.lastTransitionTime ?? '') || 0;
  const labels = objects[0]?.metadata.labels;
  const stored = caches.upgrades.byIndex(BY_UID, uid)[0];
  return {
    // The label cuts long names, which nothing compares.
    upgrade: stored
      ? identityOf(stored)
      : { uid, namespace: labels?.[Label.upgradeNamespace] ?? '', name: labels?.[Label.upgradeName] ?? '' },
    cluster,
    managed,
    owed: owedPins(managed).get(uid),
    reach,
    hasBegun: objects.length > 0,
    isThere: reach.spoke.available && (findDenial(managed) ?? findHold(managed)) === undefined,
    thereSince: Math.min(changedAt, now),
    isPrecached: objectsIn(caches, 'precache', cluster).some(({ metadata }) => metadata.labels?.[Label.upgradeUid] === uid),
  };
}
