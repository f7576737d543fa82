import { type KubeObject, Label } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { type ClusterGroupUpgrade, type FleetLimits, FleetLimitsName, LimitedActivity } from '@flotilla/api/ran';
import { findPause, readLimits, readWait } from '@flotilla/rollout';
import { ROW, type StoredChange } from '../core/world.ts';
import { type Ledger, verdictOf } from './ledger.ts';
import type { Property } from './property.ts';

/** Rules by which clusters share the places of the fleet. */
export function limits(ledger: Ledger): Property[] {
  // Most stories have none.
  if (!ledger.world.story.limits) return [];
  const told = new ToldLimits(ledger);
  const held = new HeldPulls(ledger);
  return [limitsAreKept(ledger, told, held), placesAreUsed(ledger, told, held)];
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

/** States of a cluster that pulls. */
const PULLS: ReadonlySet<string> = new Set(['PreparingToStart', 'Starting', 'Active']);

/** Clusters of an upgrade that pull, or are upgraded, as anybody can read in its status. */
function atWork({ metadata, status }: ClusterGroupUpgrade, activity: Activity): string[] {
  if (metadata.deletionTimestamp || status?.status.completedAt) return [];
  const isOver = status?.conditions?.some(({ type }) => type === 'Succeeded');
  if (activity === 'pulling')
    return Object.entries(status?.precaching?.status ?? {}).flatMap(([cluster, state]) => (PULLS.has(state) ? [cluster] : []));
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

interface Beside {
  /** Clusters that pull for upgrades that were stopped, or end. */
  readonly held: readonly string[];
  readonly upgrades?: Iterable<ClusterGroupUpgrade>;
}

/** Clusters at work over all upgrades that share the limit with one, and the most that may be. */
function use(ledger: Ledger, activity: Activity, cluster: string, limits: FleetLimits, { held, upgrades }: Beside) {
  const all = new Set([...held, ...[...(upgrades ?? ledger.upgrades.values())].flatMap((upgrade) => atWork(upgrade, activity))]);
  return [limits[activity], limits.byLabel?.[0]?.[activity]].map((most = Number.POSITIVE_INFINITY, index) => {
    const isSharing = sharing(ledger, cluster, index > 0);
    return { most, taken: [...all].filter(isSharing) };
  });
}

/** Pulls of upgrades that were stopped, or end: they go on as long as the hub has objects of them. */
class HeldPulls {
  readonly #ledger: Ledger;
  readonly #held = new Map<string, string>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  take(changes: readonly StoredChange[]): void {
    for (const { kind, change } of changes) {
      const { metadata } = change.after.object as unknown as KubeObject;
      if (metadata.labels?.[Label.work] !== 'precache') continue;
      const key = `${kind.plural} ${metadata.namespace}/${metadata.name}`;
      // A frozen work waits for the end of its upgrade, and nothing pulls by it.
      if (change.type === 'DELETED' || metadata.annotations?.['flotilla.io/frozen'] !== undefined) this.#held.delete(key);
      else this.#held.set(key, `${metadata.labels[Label.upgradeUid]}/${metadata.namespace}`);
    }
  }

  get clusters(): string[] {
    const held = new Set(this.#held.values());
    return [...this.#ledger.upgrades.values()].flatMap((upgrade) => {
      const isStopped = findPause(upgrade)?.stops === true;
      if (!isStopped && upgrade.metadata.deletionTimestamp === undefined && verdictOf(upgrade) === undefined) return [];
      return Object.entries(upgrade.status?.precaching?.status ?? {}).flatMap(([cluster, state]) => {
        const mayPull = PULLS.has(state) || (isStopped && state === 'NotStarted');
        return mayPull && held.has(`${upgrade.metadata.uid}/${cluster}`) ? [cluster] : [];
      });
    });
  }
}

const limitsAreKept = (ledger: Ledger, told: ToldLimits, held: HeldPulls): Property => {
  /** When the status of an upgrade that was lost came back. What had begun goes on, and its places may have gone to others meanwhile. */
  const backAt = new Map<string, number>();
  const isKnown = ({ metadata: { uid = '' } }: ClusterGroupUpgrade): boolean => {
    const since = backAt.get(uid);
    return since === undefined || ledger.now - since > ledger.graceMs(since);
  };
  return {
    name: 'limits are kept',
    rule: 'no cluster begins a pull or its part when as many as may have begun over all upgrades',
    look(changes) {
      told.take(changes);
      held.take(changes);
      const begun = ledger.upgradesIn(changes).flatMap(({ name, before, after, isDeleted }) => {
        if (before && before.metadata.uid !== after.metadata.uid) backAt.set(after.metadata.uid ?? '', ledger.now);
        return LimitedActivity.options.flatMap((activity) => {
          const had = new Set(before ? atWork(before, activity) : []);
          const clusters = isDeleted ? [] : atWork(after, activity);
          return clusters.filter((cluster) => !had.has(cluster)).map((cluster) => ({ activity, name, cluster }));
        });
      });
      for (const { activity, name, cluster } of begun) {
        const own = ledger.upgrades.get(name);
        const upgrades = [...ledger.upgrades.values()].filter((each) => each === own || isKnown(each));
        // A cluster that another upgrade has at work has its place.
        if (upgrades.some((each) => each !== own && atWork(each, activity).includes(cluster))) continue;
        const beside = { held: activity === 'pulling' ? held.clusters : [], upgrades };
        const over = told.possible.map((each) =>
          use(ledger, activity, cluster, each, beside).find(({ most, taken }) => taken.length > most),
        );
        const least = over.every((each) => each !== undefined) ? over[0] : undefined;
        if (least) return `${name} has ${cluster} ${activity} beside ${least.taken.join(', ')}, and ${least.most} may at a time`;
      }
      return undefined;
    },
  };
};

/** Time in which a free place is taken, in milliseconds. */
const PATIENCE_MS = 60_000;

const placesAreUsed = (ledger: Ledger, told: ToldLimits, held: HeldPulls): Property => {
  const free = new Map<string, number>();
  return {
    name: 'places are used',
    rule: 'no cluster waits for a place for long when there is one',
    // While one waits nothing may be written of any upgrade.
    look() {
      const [current] = told.possible.slice(-1);
      for (const [name, upgrade] of ledger.upgrades)
        for (const activity of LimitedActivity.options) {
          const says = waiting(ledger, told, { name, upgrade, activity, current: current ?? {}, free, held });
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
    held,
  }: {
    name: string;
    upgrade: ClusterGroupUpgrade;
    activity: Activity;
    current: FleetLimits;
    free: Map<string, number>;
    held: HeldPulls;
  },
): string | undefined {
  const { messages = {}, precaching } = upgrade.status ?? {};
  const isOver = upgrade.metadata.deletionTimestamp !== undefined || upgrade.status?.conditions?.some(({ type }) => type === 'Succeeded');
  const said = isOver ? {} : activity === 'pulling' ? (precaching?.messages ?? {}) : messages;
  const waits = new Set(Object.entries(said).flatMap(([cluster, message]) => (isForPlace(message) ? [cluster] : [])));
  const beside = { held: waits.size > 0 && activity === 'pulling' ? held.clusters : [] };
  for (const cluster of ledger.world.names) {
    const key = `${activity} ${name} ${cluster}`;
    const isFree = waits.has(cluster) && use(ledger, activity, cluster, current, beside).every(({ most, taken }) => taken.length < most);
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
