/** Says of each limit of the fleet who has its places and who waits, by stored statuses alone. Pure. */
import { refKey } from '@flotilla/api';
import type { LimitsAnswer, LimitUse } from '@flotilla/api/answers';
import { type ClusterGroupUpgrade, type FleetLimits, LimitedActivity } from '@flotilla/api/ran';
import { clustersWithPlace, type Limit, limitsOn } from '../limits/places.ts';
import { isEnding } from '../upgrade/stage.ts';
import { readWait } from '../waits/wait.ts';

type Labels = Readonly<Record<string, string>>;

/** Everything that the answer rests on. */
interface LimitsFacts {
  readonly limits: FleetLimits;
  readonly upgrades: readonly ClusterGroupUpgrade[];
  /** Labels of all ManagedClusters by their name. */
  readonly clusters: ReadonlyMap<string, Labels>;
}

/** Answers about limits that could be read. */
export function answerLimits({ limits, upgrades, clusters }: LimitsFacts): Pick<LimitsAnswer, 'limits' | 'notes'> {
  const open = upgrades.filter((upgrade) => !isEnding(upgrade));
  const uses = LimitedActivity.options.flatMap((activity) => {
    const found = new Map<string, Use>();
    const useOf = (limit: Limit): Use => {
      const use = found.get(limit.id) ?? { limit, taken: new Map(), waiting: new Map() };
      found.set(limit.id, use);
      return use;
    };
    for (const labels of [...labelsOfLimits(limits), ...clusters.values()])
      for (const limit of limitsOn(limits, activity, labels)) useOf(limit);
    for (const upgrade of open) {
      const count = (names: readonly string[], which: 'taken' | 'waiting') => {
        for (const cluster of names)
          for (const limit of limitsOn(limits, activity, clusters.get(cluster))) add(useOf(limit)[which], refKey(upgrade.metadata));
      };
      count(clustersWithPlace(upgrade, activity), 'taken');
      count(waitingFor(upgrade, activity), 'waiting');
    }
    return [...found.values()].toSorted((a, b) => a.limit.id.localeCompare(b.limit.id)).map((use) => asAnswer(use, activity));
  });
  return { limits: uses, notes: labelsWithoutCluster(limits, clusters) };
}

/** Upgrades by the number of their clusters that have a place under a limit, and that wait. */
interface Use {
  readonly limit: Limit;
  readonly taken: Map<string, number>;
  readonly waiting: Map<string, number>;
}

const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

/** Clusters of an upgrade whose stored wait is one for a place. */
const waitingFor = ({ status }: ClusterGroupUpgrade, activity: LimitedActivity): string[] =>
  Object.entries((activity === 'pulling' ? status?.precaching?.messages : status?.messages) ?? {}).flatMap(([cluster, message]) =>
    readWait(message)?.cause === 'limit' ? [cluster] : [],
  );

function asAnswer({ limit: { most, of }, taken, waiting }: Use, activity: LimitedActivity): LimitUse {
  const shares = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .map(([upgrade, clusters]) => ({ upgrade, clusters }))
      .toSorted((a, b) => b.clusters - a.clusters || a.upgrade.localeCompare(b.upgrade));
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((all, count) => all + count, 0);
  return { activity, ...of, most, taken: sum(taken), waiting: sum(waiting), holders: shares(taken), waiters: shares(waiting) };
}

/** Labels of a cluster for each value that has limits of its own. */
const labelsOfLimits = ({ byLabel = [] }: FleetLimits): Labels[] =>
  byLabel.flatMap(({ label, values = {} }) => Object.keys(values).map((value) => ({ [label]: value })));

function labelsWithoutCluster({ byLabel = [] }: FleetLimits, clusters: ReadonlyMap<string, Labels>): string[] {
  const all = [...clusters.values()];
  const has = (label: string, value?: string) =>
    all.some((labels) => (value === undefined ? Object.hasOwn(labels, label) : (labels[label] ?? '') === value));
  return byLabel.flatMap(({ label, values = {} }) => {
    if (!has(label)) return [`no ManagedCluster has the label ${label}, so all share the limit of clusters without it`];
    const unused = Object.keys(values).filter((value) => !has(label, value));
    return unused.map((value) => `no ManagedCluster has ${value === '' ? `no label ${label}` : `the label ${label}=${value}`}`);
  });
}
