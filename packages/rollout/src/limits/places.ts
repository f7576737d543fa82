/**
 * Places under the limits of the fleet: how many clusters pull, or are upgraded, at a time. Who has a place follows from stored states, so that nothing
 * is counted that could drift. Pure.
 */
import { perObject, refKey } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  type FleetLimits,
  FleetLimitsName,
  isFinalPrecacheState,
  LEAST_BANDWIDTH,
  LimitedActivity,
} from '@flotilla/api/ran';
import { judgeWindow } from '../gates/window.ts';
import { proofsOf } from '../proofs/proofs.ts';
import { ProgressState } from '../upgrade/model.ts';
import { isEnding, isRunning } from '../upgrade/stage.ts';
import type { Wait } from '../waits/wait.ts';

/**
 * Bytes a second for which a limit of bytes has one place. Until others have given up their part a newcomer has `LEAST_BANDWIDTH` beyond what is free,
 * so as many newcomers as there are places exceed the limit by a twentieth.
 */
export const BYTES_FOR_PLACE = 20 * LEAST_BANDWIDTH;

/** A limit, and the clusters that share it: all, or those with one value of a label. */
export interface Limit {
  /** Differs from that of any other limit of the activity. */
  readonly id: string;
  readonly most: number;
  /** Absent: all clusters. `''` are those without the label. */
  readonly of?: { readonly label: string; readonly value: string } | undefined;
  /** Bytes a second that bound the number of places. */
  readonly bytesPerSecond?: number | undefined;
}

type Limited = LimitedActivity | 'bytesPerSecond';
type Amounts = Pick<FleetLimits, Limited>;
type Labels = Readonly<Record<string, string>>;

/** The limits that a cluster with these labels is under. Each pull needs a part of the bytes, so a limit of bytes is one of pulls, too. */
export function limitsOn(limits: FleetLimits, limited: Limited, labels: Labels = {}): Limit[] {
  const all = mostOf(limits, limited);
  const found: Limit[] = all ? [{ id: '', ...all }] : [];
  for (const { label, values = {}, ...each } of limits.byLabel ?? []) {
    const value = (Object.hasOwn(labels, label) ? labels[label] : undefined) ?? '';
    const most = mostOf({ ...each, ...(Object.hasOwn(values, value) && values[value]) }, limited);
    if (most) found.push({ id: `${label}=${value}`, ...most, of: { label, value } });
  }
  return found;
}

function mostOf(amounts: Amounts, limited: Limited): Pick<Limit, 'most' | 'bytesPerSecond'> | undefined {
  const { [limited]: most, bytesPerSecond } = amounts;
  const byBytes =
    limited === 'pulling' && bytesPerSecond !== undefined ? Math.max(1, Math.floor(bytesPerSecond / BYTES_FOR_PLACE)) : undefined;
  if (byBytes !== undefined && byBytes < (most ?? Number.POSITIVE_INFINITY)) return { most: byBytes, bytesPerSecond };
  return most === undefined ? undefined : { most };
}

/** True where some cluster is under a limit of the activity. */
export const isLimited = (limits: FleetLimits, limited: Limited): boolean =>
  [limits, ...(limits.byLabel ?? []).flatMap((rule) => [rule, ...Object.values(rule.values ?? {})])].some(
    (amounts) => mostOf(amounts, limited) !== undefined,
  );

/** Clusters of an upgrade that have a place by its stored status. */
export const clustersWithPlace = (upgrade: ClusterGroupUpgrade, activity: LimitedActivity): readonly string[] =>
  upgrade.status === undefined ? [] : OCCUPANTS[activity](upgrade, upgrade.status);

const OCCUPANTS: Readonly<Record<LimitedActivity, (upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus) => readonly string[]>> =
  {
    // A job that was begun pulls until it is seen to have ended, also when its upgrade was withdrawn.
    pulling: (_, status) => (status.precaching ? pulling(status.precaching) : []),
    upgrading: (upgrade, status) => (isRunning(upgrade) ? upgrading(status) : []),
  };

/** A proof asks the node alone. */
const pulling = perObject(
  ({ status: states = {}, proofs = [] }: NonNullable<ClusterGroupUpgradeStatus['precaching']>): readonly string[] => {
    const asked = proofsOf(proofs);
    return Object.entries(states).flatMap(([cluster, state]) =>
      state === 'NotStarted' || isFinalPrecacheState(state) || asked.get(cluster)?.kind === 'prove' ? [] : [cluster],
    );
  },
);

const upgrading = perObject(({ clusters = [], status }: ClusterGroupUpgradeStatus): readonly string[] => {
  const recorded = new Set(clusters.map(({ name }) => name));
  return Object.entries(status.currentBatchRemediationProgress ?? {}).flatMap(([cluster, { state }]) =>
    state === ProgressState.inProgress && !recorded.has(cluster) ? [cluster] : [],
  );
});

/** Places that one pass of an upgrade asks for. */
export interface PlacesToAsk {
  /** Some cluster is under a limit. */
  readonly isLimited: boolean;
  /** Gives a cluster that is about to begin its place, or says what it waits for. The same answer throughout the pass. */
  readonly find: (cluster: string) => Wait | undefined;
}

/** Clusters that have places, and how many each limit has left. */
export class Occupancy {
  readonly #limitsOf: (cluster: string) => readonly Limit[];
  readonly #all: number | undefined;
  readonly #counts = new Map<string, number>();
  readonly #holders = new Map<string, Set<string>>();
  readonly #taken = new Set<string>();
  readonly #reserved = new Set<string>();

  constructor(limits: FleetLimits, activity: LimitedActivity, labelsOf: (cluster: string) => Labels | undefined) {
    this.#all = mostOf(limits, activity)?.most;
    this.#limitsOf = (cluster) => limitsOn(limits, activity, labelsOf(cluster));
  }

  has(cluster: string): boolean {
    return this.#taken.has(cluster);
  }

  /** Gives the cluster a place, whether there is one or not: a limit that is lowered stops nothing that runs. @param holder `namespace/name` of its upgrade */
  take(cluster: string, holder: string): void {
    if (this.#taken.has(cluster)) return;
    this.#taken.add(cluster);
    for (const { id } of this.#limitsOf(cluster)) {
      this.#counts.set(id, this.count(id) + 1);
      this.#holders.set(id, (this.#holders.get(id) ?? new Set()).add(holder));
    }
  }

  /** No cluster at all has a place left. */
  get isFull(): boolean {
    return this.#all !== undefined && this.count('') >= this.#all;
  }

  /** Keeps a place that is free for a cluster of an upgrade whose turn is earlier. */
  reserve(cluster: string): void {
    if (this.#taken.has(cluster) || this.#reserved.has(cluster) || this.findFull(cluster) !== undefined) return;
    this.#reserved.add(cluster);
    for (const { id } of this.#limitsOf(cluster)) this.#counts.set(id, this.count(id) + 1);
  }

  /** The first limit that has no place left for the cluster. */
  findFull(cluster: string): Limit | undefined {
    return this.#limitsOf(cluster).find(({ id, most }) => this.count(id) >= most);
  }

  /** Each limit that somebody has a place under. */
  figures(): { readonly label: string; readonly value: string; readonly most: number; readonly taken: number }[] {
    const limits = new Map([...this.#taken].flatMap((cluster) => this.#limitsOf(cluster).map((limit) => [limit.id, limit] as const)));
    return [...limits.values()].map(({ id, most, of }) => ({
      label: of?.label ?? '',
      value: of?.value ?? '',
      most,
      taken: this.count(id),
    }));
  }

  count(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  /** `namespace/name` of the upgrades whose clusters have places under a limit, in their order. */
  holders(id: string): readonly string[] {
    return [...(this.#holders.get(id) ?? [])].toSorted();
  }
}

/** Order in which upgrades get places: those whose window opens first, then the oldest. Negative: the first of both comes first. @param now epoch milliseconds */
export function byTurn(one: ClusterGroupUpgrade, other: ClusterGroupUpgrade, now: number): number {
  const opens = opensAt(one, now) - opensAt(other, now);
  if (opens !== 0 && !Number.isNaN(opens)) return opens;
  const age = Date.parse(one.metadata.creationTimestamp ?? '') - Date.parse(other.metadata.creationTimestamp ?? '');
  return (Number.isNaN(age) ? 0 : age) || refKey(one.metadata).localeCompare(refKey(other.metadata));
}

/** One without a window, or within it, may begin now; one whose window never opens comes last. */
function opensAt(upgrade: ClusterGroupUpgrade, now: number): number {
  const window = judgeWindow(upgrade, now);
  if (window.kind === 'open') return now;
  return (window.kind === 'closed' ? window.opensAt : undefined) ?? Number.POSITIVE_INFINITY;
}

/** Upgrades that a wait names. */
const MOST_NAMED = 3;

const DOES: Readonly<Record<LimitedActivity, { readonly one: string; readonly many: string }>> = {
  pulling: { one: 'pre-caches', many: 'pre-cache' },
  upgrading: { one: 'is upgraded', many: 'are upgraded' },
};

/** The wait for a place. @param holders `namespace/name` of the upgrades that have them @param own that of the upgrade that waits */
export function waitForPlace(
  { most, of, bytesPerSecond }: Limit,
  activity: LimitedActivity,
  { holders, own }: { readonly holders: readonly string[]; readonly own: string },
): Wait {
  const who = of === undefined ? '' : of.value === '' ? ` without the label ${of.label}` : ` with ${of.label}=${of.value}`;
  const others = holders.filter((holder) => holder !== own);
  const named = others.slice(0, MOST_NAMED).join(', ');
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  const places =
    others.length === 0 ? '' : `; ${named}${more} ${holders.includes(own) ? 'also ' : ''}${others.length === 1 ? 'has' : 'have'} places`;
  const does = most === 1 ? `1 cluster${who} ${DOES[activity].one}` : `${most} clusters${who} ${DOES[activity].many}`;
  const part = bytesPerSecond === undefined ? '' : `, each with a part of ${bytesPerSecond} bytes a second`;
  return { cause: 'limit', says: `waits for a place: at most ${does} at a time${part} (ConfigMap ${FleetLimitsName.configMap})${places}` };
}

/** The wait under limits that nobody could read yet. */
export const waitForLimits = (problem: string): Wait => ({
  cause: 'limit',
  says: `nothing begins under limits that could not be read since the start of the hub: ${problem}`,
  fix: `correct key ${FleetLimitsName.key} of ConfigMap ${FleetLimitsName.configMap}, or delete the ConfigMap`,
});

/** True when what is stored now of an upgrade leaves places to others that it had. */
export function freesPlaces(before: ClusterGroupUpgrade, after: ClusterGroupUpgrade): boolean {
  if (isEnding(before) !== isEnding(after) || before.status?.status.completedAt !== after.status?.status.completedAt) return true;
  return LimitedActivity.options.some((activity) => {
    const [had, has] = [clustersWithPlace(before, activity), clustersWithPlace(after, activity)];
    const left = had === has ? undefined : new Set(has);
    return left !== undefined && had.some((cluster) => !left.has(cluster));
  });
}
