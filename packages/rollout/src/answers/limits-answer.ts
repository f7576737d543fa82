/** Says of each limit of the fleet who has its places and who waits, by stored statuses alone. Pure. */
import { refKey } from '@flotilla/api';
import type { Figure, LimitsAnswer, LimitUse, RateUse } from '@flotilla/api/answers';
import { type ClusterGroupUpgrade, type FleetLimits, LimitedActivity } from '@flotilla/api/ran';
import { byTurn, clustersWithPlace, type Limit, limitsOn } from '../limits/places.ts';
import { isEnding } from '../upgrade/stage.ts';
import { readWait } from '../waits/wait.ts';
import { datedReport } from './evidence.ts';
import { exact, forecast, unknown } from './facts.ts';

type Labels = Readonly<Record<string, string>>;

/** Everything that the answer rests on. */
export interface LimitsFacts {
  readonly limits: FleetLimits;
  readonly upgrades: readonly ClusterGroupUpgrade[];
  /** Labels of all ManagedClusters by their name. */
  readonly clusters: ReadonlyMap<string, Labels>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Answers about limits that could be read. */
export function answerLimits(facts: LimitsFacts): Pick<LimitsAnswer, 'limits' | 'rates' | 'notes'> {
  const parts = facts.upgrades.filter((upgrade) => !isEnding(upgrade)).map(partOf);
  const turns = turnsOf(parts, facts.now);
  return {
    limits: LimitedActivity.options.flatMap((activity) => usesOf(facts, parts, activity).map((use) => limitUse(use, activity, turns))),
    rates: usesOf(facts, parts, 'bytesPerSecond').map(rateUse),
    notes: labelsWithoutCluster(facts),
  };
}

/** An upgrade, with its clusters that have a place, and those whose stored wait is one for a place. */
interface Part {
  readonly upgrade: ClusterGroupUpgrade;
  readonly key: string;
  readonly placed: Readonly<Record<LimitedActivity, readonly string[]>>;
  readonly waiting: Readonly<Record<LimitedActivity, readonly string[]>>;
}

function partOf(upgrade: ClusterGroupUpgrade): Part {
  const { precaching, messages } = upgrade.status ?? {};
  return {
    upgrade,
    key: refKey(upgrade.metadata),
    placed: { pulling: clustersWithPlace(upgrade, 'pulling'), upgrading: clustersWithPlace(upgrade, 'upgrading') },
    waiting: { pulling: waitingBy(precaching?.messages), upgrading: waitingBy(messages) },
  };
}

const waitingBy = (messages: Readonly<Record<string, string>> = {}): string[] =>
  Object.entries(messages).flatMap(([cluster, message]) => (readWait(message)?.cause === 'limit' ? [cluster] : []));

/** Place of each upgrade that waits, in the order in which they get places. */
function turnsOf(parts: readonly Part[], now: number): ReadonlyMap<string, number> {
  const waiting = parts.filter((part) => part.waiting.pulling.length > 0 || part.waiting.upgrading.length > 0);
  return new Map(waiting.toSorted((a, b) => byTurn(a.upgrade, b.upgrade, now)).map(({ key }, at) => [key, at]));
}

/** A limit, and whoever shares it. */
interface Use {
  readonly limit: Limit;
  /** Clusters that have a place under it, each with the last rate that its puller reported. */
  readonly taken: Map<string, number | undefined>;
  /** Upgrades by the number of their clusters that have a place under it, and that wait. */
  readonly holders: Map<string, number>;
  readonly waiters: Map<string, number>;
}

/** Each limit, in the order of labels and values. */
function usesOf({ limits, clusters, now }: LimitsFacts, parts: readonly Part[], limited: LimitedActivity | 'bytesPerSecond'): Use[] {
  const activity = limited === 'bytesPerSecond' ? 'pulling' : limited;
  const found = new Map<string, Use>();
  const usesOn = (labels: Labels | undefined): Use[] =>
    limitsOn(limits, limited, labels).map((limit) => {
      const use = found.get(limit.id) ?? { limit, taken: new Map(), holders: new Map(), waiters: new Map() };
      found.set(limit.id, use);
      return use;
    });
  for (const labels of [...labelsOfLimits(limits), ...clusters.values()]) usesOn(labels);
  for (const { upgrade, key, placed, waiting } of parts) {
    const { progress = {}, status: states = {} } = upgrade.status?.precaching ?? {};
    const reporting = Object.keys(states).length;
    for (const cluster of placed[activity])
      for (const { taken, holders } of usesOn(clusters.get(cluster))) {
        const { bytesPerSecond, at } = progress[cluster] ?? {};
        taken.set(cluster, datedReport(at, reporting, now).isUnknown ? taken.get(cluster) : bytesPerSecond);
        add(holders, key);
      }
    for (const cluster of waiting[activity]) for (const { waiters } of usesOn(clusters.get(cluster))) add(waiters, key);
  }
  return [...found.values()].toSorted((a, b) => a.limit.id.localeCompare(b.limit.id));
}

const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

type Share = LimitUse['holders'][number];

const sharesOf = (counts: ReadonlyMap<string, number>, order: (a: Share, b: Share) => number): Share[] =>
  [...counts].map(([upgrade, clusters]) => ({ upgrade, clusters })).toSorted(order);
const mostFirst = (a: Share, b: Share): number => b.clusters - a.clusters || a.upgrade.localeCompare(b.upgrade);

function limitUse({ limit, taken, holders, waiters }: Use, activity: LimitedActivity, turns: ReadonlyMap<string, number>): LimitUse {
  const turn = ({ upgrade }: Share): number => turns.get(upgrade) ?? 0;
  return {
    activity,
    ...limit.of,
    most: limit.most,
    taken: taken.size,
    waiting: [...waiters.values()].reduce((sum, count) => sum + count, 0),
    holders: sharesOf(holders, mostFirst),
    waiters: sharesOf(waiters, (a, b) => turn(a) - turn(b)),
  };
}

const rateUse = ({ limit, taken, holders }: Use): RateUse => ({
  ...limit.of,
  most: limit.most,
  taken: rateOf([...taken.values()]),
  pullers: sharesOf(holders, mostFirst),
});

/** A cluster that pulls and has said nothing may take any part. */
function rateOf(rates: readonly (number | undefined)[]): Figure {
  const known = rates.filter((rate) => rate !== undefined);
  const sum = known.reduce((all, rate) => all + rate, 0);
  const silent = rates.length - known.length;
  if (silent === 0) return exact(sum);
  const why = `${silent} of ${rates.length} clusters that pull have not reported their rate recently`;
  return known.length === 0 ? unknown(why) : forecast(sum, why);
}

/** Labels of a cluster for each value that has limits of its own. */
const labelsOfLimits = ({ byLabel = [] }: FleetLimits): Labels[] =>
  byLabel.flatMap(({ label, values = {} }) => Object.keys(values).map((value) => ({ [label]: value })));

function labelsWithoutCluster({ limits: { byLabel = [] }, clusters }: LimitsFacts): string[] {
  const all = [...clusters.values()];
  const has = (label: string, value?: string) =>
    all.some((labels) => (value === undefined ? Object.hasOwn(labels, label) : (labels[label] ?? '') === value));
  return byLabel.flatMap(({ label, values = {} }) => {
    if (!has(label)) return [`no ManagedCluster has the label ${label}, so all share the limit of clusters without it`];
    const unused = Object.keys(values).filter((value) => !has(label, value));
    return unused.map((value) => `no ManagedCluster has ${value === '' ? `no label ${label}` : `the label ${label}=${value}`}`);
  });
}
