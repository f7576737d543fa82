/** Members that are no ManagedClusters now and may come back, as while a hub is restored object by object. Pure. */
import { createHash } from 'node:crypto';
import { conditionTime, findCondition, Label, perObject, type Ref, refKey } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeSpec,
  type ClusterGroupUpgradeStatus,
} from '@flotilla/api/ran';
import { notFound, type Wait } from '../waits/wait.ts';
import type { SelectionFailure } from './cluster-selection.ts';

/** Time that members have to come back before the first batch. */
export const RETURN_MS = 30 * 60_000;
/** Most clusters that a sentence names. */
const MOST_CLUSTERS = 10;

/** Reason of a condition while members are waited for before the start. */
const WAITING = 'WaitingForMembers';

/** Since when members are waited for by what is stored, milliseconds since the epoch; undefined while none are. */
export function waitingSince({ conditions }: ClusterGroupUpgradeStatus): number | undefined {
  const selected = findCondition(conditions, ClusterGroupUpgradeCondition.clustersSelected);
  const since = selected?.reason === WAITING ? Date.parse(selected.lastTransitionTime) : Number.NaN;
  return Number.isNaN(since) ? undefined : since;
}

type Chosen = Pick<ClusterGroupUpgradeSpec, 'clusters' | 'clusterSelector' | 'clusterLabelSelectors'>;

/** True when the spec names its clusters and this one no more: whoever waits for it has been told to stop. */
export const isTakenOut = ({ clusters, clusterSelector = [], clusterLabelSelectors = [] }: Chosen, cluster: string): boolean =>
  clusterSelector.length + clusterLabelSelectors.length === 0 && clusters !== undefined && !clusters.includes(cluster);

/** The refusal of a plan that lacks members. */
export const missingMembers = ({ clusters, until }: Missing): SelectionFailure => {
  const { says, fix } = waitForMembers(clusters);
  return { reason: WAITING, message: `${says}; to go on: ${fix}; without it the upgrade goes on at ${conditionTime(until)}` };
};

/** Wait for members that are not there. @param until when the first batch starts without them; absent: their batch's time-out */
export function waitForMembers(
  missing: readonly string[],
  { since, until }: { since?: number | undefined; until?: number | undefined } = {},
): Wait {
  const shown = missing.slice(0, MOST_CLUSTERS).join(', ');
  const rest = missing.length - MOST_CLUSTERS;
  const who = `${shown}${rest > 0 ? ` and ${rest} more` : ''}`;
  return {
    cause: 'cluster-missing',
    says: `${who} ${missing.length === 1 ? 'is no ManagedCluster' : 'are no ManagedClusters'}, and nobody saw it deleted`,
    fix: 'restore or register it, or take it out of spec.clusters',
    since,
    until,
    of: notFound(`ManagedCluster ${missing[0]}`),
  };
}

/** Members that the stored plan names and that are waited for, before the start. */
export interface Missing {
  readonly clusters: readonly string[];
  /** When the upgrade goes on without them, milliseconds since the epoch. */
  readonly until: number;
}

/**
 * True for an upgrade whose object was made again: it carries the uid of the object that it is a copy of. One that an older hub or nobody has taken up
 * carries none, and one of another name is an upgrade of its own.
 */
export function wasMadeAgain({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>): boolean {
  const [uid, name] = metadata.labels?.[Label.takenUp]?.split('.') ?? [];
  return name === nameDigest(metadata) && uid !== metadata.uid;
}

/** Value of the label by which a hub marks an upgrade that it takes up. */
export const takenUpValue = ({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>): string => `${metadata.uid}.${nameDigest(metadata)}`;

const DIGEST_LENGTH = 8;
/** Asked of the same metadata with each look at an upgrade. */
const nameDigest = perObject((ref: Ref): string => createHash('sha256').update(refKey(ref)).digest('hex').slice(0, DIGEST_LENGTH));

/**
 * When an upgrade that was made again begins anew, milliseconds since the epoch; undefined once it has its status. Without it nobody knows what was done,
 * nor which members are still to come.
 */
export function awaitsStatusUntil({ metadata, status }: ClusterGroupUpgrade): number | undefined {
  const selected = findCondition(status?.conditions, ClusterGroupUpgradeCondition.clustersSelected);
  if ((status?.conditions?.length ?? 0) > 0 && selected?.reason !== WAITING) return undefined;
  return (metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0) + RETURN_MS;
}
