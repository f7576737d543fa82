import { Annotation } from '@flotilla/api';
import { CLUSTER_AVAILABLE } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { readWaves } from '@flotilla/rollout';
import { ON_CLUSTER, ON_JOBS, ON_POLICY, ON_WAVES } from '../core/story.ts';
import { type StoredChange, spokeName } from '../core/world.ts';
import { type Ledger, verdictOf } from './ledger.ts';
import type { Property } from './property.ts';

/** Batches that are filled with clusters that are ready. */
export function waves(ledger: Ledger): Property[] {
  const rules = new Rules(ledger);
  return [rules.noted, wavesAreFull(ledger, rules), readyFirst(ledger), waitsForNobody(ledger, rules)];
}

/** Times in a status are whole seconds. */
const SECOND_MS = 1_000;

const textOf = ({ metadata: { annotations = {} } }: ClusterGroupUpgrade): string =>
  [Annotation.waves, Annotation.waveMin, Annotation.wavePatience].map((key) => annotations[key] ?? '').join(' ');

/** Since when upgrades have their rules. */
class Rules {
  readonly #ledger: Ledger;
  readonly #known = new Map<string, { readonly text: string; readonly since: number; readonly isFirst: boolean }>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Sees an edit before any property is asked about it. */
  readonly noted: Property = {
    name: 'rules of waves',
    rule: '',
    look: (changes) => {
      for (const { name, after } of this.#ledger.upgradesIn(changes)) {
        const known = this.#known.get(name);
        const text = textOf(after);
        if (known?.text !== text) this.#known.set(name, { text, since: this.#ledger.now, isFirst: known === undefined });
      }
      return undefined;
    },
  };

  /** Milliseconds since the epoch. */
  since(name: string): number {
    return this.#known.get(name)?.since ?? 0;
  }

  /** They were edited, and a hub may not know yet. */
  areFresh(name: string): boolean {
    const { since = 0, isFirst = true } = this.#known.get(name) ?? {};
    return !isFirst && this.#ledger.now - since <= this.#ledger.graceMs(since);
  }
}

/** Waves that begin by these changes: batches of upgrades that fill them, but those of canaries. */
function wavesIn(ledger: Ledger, changes: readonly StoredChange[]) {
  return ledger.upgradesIn(changes).flatMap(({ name, after, before, isDeleted }) => {
    const { waves } = readWaves(after);
    const { currentBatch = 0, currentBatchStartedAt, startedAt } = after.status?.status ?? {};
    const known = before?.status?.status;
    const isSame = known?.currentBatch === currentBatch && known.currentBatchStartedAt !== undefined && known.startedAt === startedAt;
    const plan = after.status?.remediationPlan ?? [];
    const canaries = after.spec?.remediationStrategy.canaries ?? [];
    const wave = plan[currentBatch - 1] ?? [];
    const isWave = waves && !isDeleted && currentBatchStartedAt !== undefined && !isSame && !wave.every((each) => canaries.includes(each));
    const recorded = new Set(after.status?.clusters?.map((each) => each.name));
    const isOpen = (cluster: string) => !recorded.has(cluster);
    const left = plan.slice(currentBatch).flat().filter(isOpen);
    return isWave ? [{ name, after, before, waves, currentBatch, wave: wave.filter(isOpen), left }] : [];
  });
}

const wavesAreFull = (ledger: Ledger, rules: Rules): Property => {
  /** When the batch of an upgrade was first waited for, milliseconds since the epoch, by both. */
  const since = new Map<string, number>();
  return {
    name: 'waves are full',
    rule: 'a batch that is filled begins when it is full, when nobody else is left, or when its patience is over; never with fewer than the least',
    look(changes) {
      for (const { name, after } of ledger.upgradesIn(changes)) {
        const key = `${name} ${after.status?.status.startedAt} ${after.status?.status.currentBatch}`;
        if (!since.has(key)) since.set(key, ledger.now);
      }
      for (const { name, after, waves, currentBatch, wave, left } of wavesIn(ledger, changes)) {
        const size = after.status?.computedMaxConcurrency ?? 0;
        if (wave.length === 0 || wave.length >= size || left.length === 0 || rules.areFresh(name)) continue;
        const waited = ledger.now - (since.get(`${name} ${after.status?.status.startedAt} ${currentBatch}`) ?? 0);
        const isEarly = currentBatch > 1 && waited + ledger.skewMs + SECOND_MS < waves.patienceMs;
        if (isEarly) return `${name} begins batch ${currentBatch} with ${wave.join(', ')} after ${waited} ms, ${left.join(', ')} are left`;
        if (wave.length < Math.min(waves.least, wave.length + left.length, size))
          return `${name} begins batch ${currentBatch} with ${wave.join(', ')}, fewer than ${waves.least}`;
      }
      return undefined;
    },
  };
};

/** Acts after which it cannot be told from outside who was ready, or in which order. */
const UNSETTLING = ['retry', 'restore', 'restore bare', 'edit', ...ON_WAVES, ...ON_CLUSTER, ...ON_JOBS, ...ON_POLICY] as readonly string[];

const readyFirst = (ledger: Ledger): Property => ({
  name: 'ready first',
  rule: 'a batch that is filled takes the first of the plan that are ready',
  look(changes) {
    const { story } = ledger.world;
    if (story.storms.length > 0 || story.acts.some(({ what }) => UNSETTLING.includes(what))) return undefined;
    for (const { name, before, wave, left } of wavesIn(ledger, changes)) {
      const part = story.upgrades.find((each) => each.name === name);
      const states = before?.status?.precaching?.status ?? {};
      const isReady = (cluster: string) => part?.preCaching !== true || states[cluster] === 'Succeeded';
      const placeOf = (cluster: string) => (part?.clusters ?? []).findIndex((number) => spokeName(number) === cluster);
      const last = Math.max(...wave.map(placeOf));
      const passedOver = left.find((cluster) => isReady(cluster) && placeOf(cluster) < last);
      if (passedOver !== undefined) return `${name} begins ${wave.join(', ')} before ${passedOver}, which is ready`;
    }
    return undefined;
  },
});

/** From the end of its patience to the beginning of a batch: a look of the hub, and a lease that another one takes over. */
const BEGINS_MS = 180_000;

const waitsForNobody = (ledger: Ledger, rules: Rules): Property => {
  /** Since when a batch has had enough, milliseconds since the epoch, by its upgrade, its start and its number. */
  const enoughSince = new Map<string, number>();
  return {
    name: 'a wave waits for nobody',
    rule: 'once its patience is over and the least is ready, the next batch that is filled begins',
    look() {
      for (const [name, upgrade] of ledger.upgrades) {
        const { status: { startedAt, currentBatch } = {} } = upgrade.status ?? {};
        const key = `${name} ${startedAt} ${currentBatch}`;
        const ready = readyFor(ledger, name, upgrade);
        if (!ready) {
          enoughSince.delete(key);
          continue;
        }
        if (!enoughSince.has(key)) enoughSince.set(key, ledger.now);
        const from = Math.max(enoughSince.get(key) ?? ledger.now, rules.since(name), calmSince(ledger));
        const waited = ledger.now - from;
        if (waited > ready.patienceMs + BEGINS_MS)
          return `batch ${currentBatch} of ${name} has had ${ready.clusters.join(', ')} for ${Math.round(waited / SECOND_MS)} s, and has not begun`;
      }
      return undefined;
    },
  };
};

/** Since when nothing keeps news from a hub, milliseconds since the epoch; one that takes over knows nothing of what was waited for. */
function calmSince({ world: { story }, begunMs, now }: Ledger): number {
  const ends = [
    ...story.storms.map(({ from, until }) => [from, until] as const),
    ...story.acts.flatMap((act) => ('ms' in act ? [[act.at, act.at + act.ms] as const] : [])),
  ];
  return Math.max(0, ...ends.flatMap(([from, to]) => (begunMs + from <= now ? [begunMs + to] : [])));
}

/** Clusters with which the batch that an upgrade waits for could begin at the end of its patience; undefined where they are too few, or where it waits for something else. */
function readyFor(ledger: Ledger, name: string, upgrade: ClusterGroupUpgrade) {
  const { waves: rules } = readWaves(upgrade);
  const {
    remediationPlan: plan = [],
    computedMaxConcurrency: size = 0,
    clusters = [],
    status,
    conditions = [],
  } = upgrade.status ?? { status: {} };
  const { currentBatch = 0, currentBatchStartedAt, startedAt } = status;
  const isWaited = startedAt !== undefined && currentBatch > 0 && currentBatchStartedAt === undefined && verdictOf(upgrade) === undefined;
  // The hub itself says that nothing else is waited for.
  const saysSo = conditions.some(({ message }) => message.startsWith(`Batch ${currentBatch} is filled with clusters that are ready`));
  if (!rules || !isWaited || !saysSo || ledger.forbidden.has(name)) return undefined;
  const recorded = new Set(clusters.map((each) => each.name));
  const open = plan
    .slice(currentBatch - 1)
    .flat()
    .filter((cluster) => !recorded.has(cluster));
  const ready = open.filter((cluster) => isSurelyReady(ledger, upgrade, cluster));
  const isEnough = ready.length > 0 && ready.length >= Math.min(rules.least, size, open.length);
  return isEnough ? { clusters: ready, patienceMs: rules.patienceMs } : undefined;
}

/** Nothing that can be seen from outside keeps the cluster from beginning. */
function isSurelyReady(ledger: Ledger, { spec, status }: ClusterGroupUpgrade, cluster: string): boolean {
  const { metadata, status: reported } = ledger.clusters.get(cluster) ?? {};
  const { hold, windowStart, windowSchedule } = Annotation;
  const isBarred = [hold, windowStart, windowSchedule].some((key) => metadata?.annotations?.[key] !== undefined);
  const isAvailable = reported?.conditions?.some(({ type, status: is }) => type === CLUSTER_AVAILABLE && is === 'True') ?? false;
  const { status: states = {}, proofs } = status?.precaching ?? {};
  const isCached = spec?.preCaching !== true || (states[cluster] === 'Succeeded' && proofs === undefined);
  const isItself = metadata?.labels?.name === cluster && !ledger.hasLeft.has(cluster);
  return isItself && !isBarred && isAvailable && isCached;
}
