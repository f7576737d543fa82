import { ConfigMap } from '@flotilla/api/core';
import { type ClusterGroupUpgrade, type FleetLimits, FleetLimitsName, LimitedActivity } from '@flotilla/api/ran';
import { readLimits, readWait } from '@flotilla/rollout';
import { ROW, type StoredChange } from '../core/world.ts';
import type { Ledger } from './ledger.ts';
import type { Property } from './property.ts';

/** Rules by which clusters share the places of the fleet. */
export function limits(ledger: Ledger): Property[] {
  // Most stories have none.
  if (!ledger.world.story.limits) return [];
  const told = new ToldLimits(ledger);
  return [limitsAreKept(ledger, told), placesAreUsed(ledger, told)];
}

/** Limits as the ConfigMap says them, and since when. */
class ToldLimits {
  readonly #ledger: Ledger;
  readonly #told: { readonly since: number; readonly limits: FleetLimits }[] = [];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  take(changes: readonly StoredChange[]): void {
    for (const { kind, change } of changes) {
      if (kind.plural !== ConfigMap.plural || change.after.name !== FleetLimitsName.configMap) continue;
      const { data } = change.after.object as ConfigMap;
      const { limits: read } = change.type === 'DELETED' ? { limits: {} } : readLimits(data ?? {});
      // One that cannot be read keeps the last.
      if (read) this.#told.push({ since: this.#ledger.now, limits: read });
    }
  }

  /** Limits that a hub may go by now: the present ones, and those before whose end may be on its way. */
  get possible(): FleetLimits[] {
    const { now } = this.#ledger;
    return this.#told.flatMap(({ limits: read }, index) => {
      const end = this.#told[index + 1]?.since;
      return end === undefined || now - end <= this.#ledger.graceMs(end) ? [read] : [];
    });
  }

  /** Since when the present ones are so, milliseconds since the epoch. */
  get since(): number {
    return this.#told.at(-1)?.since ?? 0;
  }
}

type Activity = (typeof LimitedActivity.options)[number];

/** Clusters of an upgrade that pull, or are upgraded, as anybody can read in its status. */
function atWork({ metadata, status }: ClusterGroupUpgrade, activity: Activity): string[] {
  if (metadata.deletionTimestamp || status?.status.completedAt) return [];
  const isOver = status?.conditions?.some(({ type }) => type === 'Succeeded');
  if (activity === 'pulling')
    return Object.entries(status?.precaching?.status ?? {}).flatMap(([cluster, state]) =>
      ['PreparingToStart', 'Starting', 'Active'].includes(state) ? [cluster] : [],
    );
  const recorded = new Set(status?.clusters?.map(({ name }) => name));
  return Object.entries(isOver ? {} : (status?.status.currentBatchRemediationProgress ?? {})).flatMap(([cluster, { state }]) =>
    state === 'InProgress' && !recorded.has(cluster) ? [cluster] : [],
  );
}

/** Clusters that share places with one: all of them, or those of its row. */
const sharing = (ledger: Ledger, cluster: string, ofRow: boolean) => {
  const rowOf = (name: string) => ledger.clusters.get(name)?.metadata.labels?.[ROW] ?? '';
  const row = rowOf(cluster);
  return (name: string): boolean => !ofRow || rowOf(name) === row;
};

/** Clusters at work over all upgrades that share the limit with one, and the most that may be. */
function use(ledger: Ledger, activity: Activity, cluster: string, limits: FleetLimits) {
  const all = new Set([...ledger.upgrades.values()].flatMap((upgrade) => atWork(upgrade, activity)));
  return [limits[activity], limits.byLabel?.[0]?.[activity]].map((most = Number.POSITIVE_INFINITY, index) => {
    const isSharing = sharing(ledger, cluster, index > 0);
    return { most, taken: [...all].filter(isSharing) };
  });
}

const limitsAreKept = (ledger: Ledger, told: ToldLimits): Property => {
  const known = new Map<string, ReadonlySet<string>>();
  return {
    name: 'limits are kept',
    rule: 'no cluster begins a pull or its part when as many as may have begun over all upgrades',
    look(changes) {
      told.take(changes);
      const begun = ledger.upgradesIn(changes).flatMap(({ name, after, isDeleted }) =>
        LimitedActivity.options.flatMap((activity) => {
          const key = `${activity} ${name}`;
          const clusters = isDeleted ? [] : atWork(after, activity);
          const before = known.get(key);
          known.set(key, new Set(clusters));
          return clusters.filter((cluster) => !before?.has(cluster)).map((cluster) => ({ activity, name, cluster }));
        }),
      );
      for (const { activity, name, cluster } of begun) {
        const over = told.possible.map((each) => use(ledger, activity, cluster, each).find(({ most, taken }) => taken.length > most));
        const least = over.every((each) => each !== undefined) ? over[0] : undefined;
        if (least) return `${name} has ${cluster} ${activity} beside ${least.taken.join(', ')}, and ${least.most} may at a time`;
      }
      return undefined;
    },
  };
};

/** Time in which a free place is taken, in milliseconds. */
const PATIENCE_MS = 60_000;

const placesAreUsed = (ledger: Ledger, told: ToldLimits): Property => {
  const free = new Map<string, number>();
  return {
    name: 'places are used',
    rule: 'no cluster waits for a place for long when there is one',
    look(changes) {
      if (!ledger.upgradesIn(changes).length) return undefined;
      const [current] = told.possible.slice(-1);
      for (const [name, upgrade] of ledger.upgrades)
        for (const activity of LimitedActivity.options) {
          const says = waiting(ledger, told, { name, upgrade, activity, current: current ?? {}, free });
          if (says !== undefined) return says;
        }
      return undefined;
    },
  };
};

function waiting(
  ledger: Ledger,
  told: ToldLimits,
  {
    name,
    upgrade,
    activity,
    current,
    free,
  }: { name: string; upgrade: ClusterGroupUpgrade; activity: Activity; current: FleetLimits; free: Map<string, number> },
): string | undefined {
  const { messages = {}, precaching } = upgrade.status ?? {};
  const isOver = upgrade.metadata.deletionTimestamp !== undefined || upgrade.status?.conditions?.some(({ type }) => type === 'Succeeded');
  const said = isOver ? {} : activity === 'pulling' ? (precaching?.messages ?? {}) : messages;
  const waits = new Set(Object.entries(said).flatMap(([cluster, message]) => (isForPlace(message) ? [cluster] : [])));
  for (const cluster of ledger.world.names) {
    const key = `${activity} ${name} ${cluster}`;
    const isFree = waits.has(cluster) && use(ledger, activity, cluster, current).every(({ most, taken }) => taken.length < most);
    if (!isFree) free.delete(key);
    else if (!free.has(key)) free.set(key, ledger.now);
    const since = Math.max(free.get(key) ?? ledger.now, told.since);
    if (ledger.now - since > PATIENCE_MS + ledger.graceMs(since))
      return `${name} lets ${cluster} wait for a place to be ${activity}, which is free`;
  }
  return undefined;
}

const isForPlace = (message: string): boolean => {
  const wait = readWait(message);
  return wait?.cause === 'limit' && wait.fix === undefined;
};
