import { Annotation } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import { ON_CLUSTER, ON_JOBS, ON_POLICY } from '../core/story.ts';
import { type StoredChange, spokeName } from '../core/world.ts';
import { clustersAgain, type Ledger } from './ledger.ts';
import type { Property } from './property.ts';

/** How the clusters of an upgrade follow each other. */
export function strategy(ledger: Ledger): Property[] {
  return [
    batchSizes(ledger),
    canariesFirst(ledger),
    abortEnds(ledger),
    heldIsHeld(ledger),
    hoursAreKept(ledger),
    wavesAreFull(ledger),
    readyFirst(ledger),
    soaksLast(ledger),
  ];
}

const batchSizes = (ledger: Ledger): Property => ({
  name: 'batch sizes',
  rule: 'a batch has no more clusters than may be upgraded at a time',
  look(changes) {
    for (const { name, after, isDeleted } of ledger.upgradesIn(changes)) {
      const { remediationPlan = [], computedMaxConcurrency: most, status } = after.status ?? { status: {} };
      // Before the start the plan may be of a spec that was edited since.
      const isOpen = isDeleted || most === undefined || status.startedAt === undefined;
      const large = isOpen ? undefined : remediationPlan.find((batch) => batch.length > most);
      if (large) return `${name} has a batch of ${large.join(', ')}, and ${most} may be upgraded at a time`;
    }
    return undefined;
  },
});

const canariesFirst = (ledger: Ledger): Property => ({
  name: 'canaries first',
  rule: 'nobody else is enforced before the canaries have ended their part',
  look(changes) {
    for (const { upgrade, clusters } of ledger.enforcementsIn(changes)) {
      const { spec, status } = ledger.upgrades.get(upgrade) ?? {};
      const canaries = spec?.remediationStrategy.canaries ?? [];
      // A cluster that does not comply any more, or was imported again, is remediated again with a later batch.
      const again = status ? clustersAgain(status) : [];
      const { remediationPlan: plan = [], status: times } = status ?? { status: {} };
      const current = Math.max((times.currentBatch ?? 0) - 1, 0);
      const later = new Set(plan.slice(current).flat());
      const plannedAgain = plan
        .slice(0, current)
        .flat()
        .filter((cluster) => later.has(cluster));
      const ended = new Set([...(status?.clusters ?? []).map(({ name }) => name), ...again, ...plannedAgain]);
      const planned = new Set(plan.flat());
      const open = canaries.filter((canary) => planned.has(canary) && !ended.has(canary));
      const early = open.length > 0 ? clusters.filter((cluster) => !canaries.includes(cluster)) : [];
      if (early.length > 0) return `${upgrade} enforces ${early.join(', ')} before canary ${open.join(', ')} ended`;
    }
    return undefined;
  },
});

const abortEnds = (ledger: Ledger): Property => ({
  name: 'abort ends',
  rule: 'an upgrade that aborts enforces nobody after a batch that timed out',
  look(changes) {
    if (ledger.world.story.acts.some(({ what }) => what === 'retry')) return undefined;
    for (const { upgrade, clusters } of ledger.enforcementsIn(changes)) {
      const { spec, status } = ledger.upgrades.get(upgrade) ?? {};
      if (spec?.batchTimeoutAction !== 'Abort') continue;
      const plan = status?.remediationPlan ?? [];
      const late = new Set((status?.clusters ?? []).filter(({ state }) => state === 'timedout').map(({ name }) => name));
      const batchOf = (cluster: string) => plan.findIndex((batch) => batch.includes(cluster));
      const next = clusters.find((cluster) =>
        plan
          .slice(0, Math.max(0, batchOf(cluster)))
          .flat()
          .some((other) => late.has(other)),
      );
      if (next !== undefined) return `${upgrade} enforces ${next} after ${[...late].join(', ')} timed out`;
    }
    return undefined;
  },
});

const heldIsHeld = (ledger: Ledger): Property => ({
  name: 'held is held',
  rule: 'a cluster that somebody holds does not begin its part',
  look(changes) {
    for (const { name, cluster } of beginnings(ledger, changes)) {
      const since = ledger.heldSince.get(cluster);
      if (since !== undefined && ledger.now - since > ledger.graceMs(since)) return `${name} begins ${cluster}, which is held`;
    }
    return undefined;
  },
});

const hoursAreKept = (ledger: Ledger): Property => ({
  name: 'hours are kept',
  rule: 'no cluster begins its part outside its own hours',
  look(changes) {
    for (const { name, cluster } of beginnings(ledger, changes))
      if (ledger.isOutOfHours(cluster)) return `${name} begins ${cluster} outside its hours`;
    return undefined;
  },
});

/** Waves that begin by these changes: batches of upgrades that fill them, but those of canaries. */
function wavesIn(ledger: Ledger, changes: readonly StoredChange[]) {
  return ledger.upgradesIn(changes).flatMap(({ name, after, before, isDeleted }) => {
    const waves = ledger.world.story.upgrades.find((each) => each.name === name)?.waves;
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

const wavesAreFull = (ledger: Ledger): Property => {
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
        if (wave.length === 0 || wave.length >= size || left.length === 0) continue;
        const waited = ledger.now - (since.get(`${name} ${after.status?.status.startedAt} ${currentBatch}`) ?? 0);
        const isEarly = currentBatch > 1 && waited + ledger.skewMs + SECOND_MS < waves.patienceMinutes * 60_000;
        if (isEarly) return `${name} begins batch ${currentBatch} with ${wave.join(', ')} after ${waited} ms, ${left.join(', ')} are left`;
        if (wave.length < Math.min(waves.least, wave.length + left.length, size))
          return `${name} begins batch ${currentBatch} with ${wave.join(', ')}, fewer than ${waves.least}`;
      }
      return undefined;
    },
  };
};

/** Acts after which it cannot be told from outside who was ready, or in which order. */
const UNSETTLING = ['retry', 'restore', 'restore bare', 'edit', ...ON_CLUSTER, ...ON_JOBS, ...ON_POLICY] as readonly string[];

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

/** Clusters whose part begins by these changes. */
function beginnings(ledger: Ledger, changes: readonly StoredChange[]): { readonly name: string; readonly cluster: string }[] {
  return ledger.upgradesIn(changes).flatMap(({ name, after, before, isDeleted }) => {
    const known = before?.status?.status.currentBatchRemediationProgress ?? {};
    const recorded = new Set(after.status?.clusters?.map((each) => each.name));
    // A cluster that fell back and is late is taken up in order to be recorded.
    const isNew = (cluster: string, state: string) => state === 'InProgress' && known[cluster] === undefined && !recorded.has(cluster);
    const progress = isDeleted ? {} : (after.status?.status.currentBatchRemediationProgress ?? {});
    return Object.entries(progress).flatMap(([cluster, { state }]) => (isNew(cluster, state ?? '') ? [{ name, cluster }] : []));
  });
}

/** Times in a status are whole seconds. */
const SECOND_MS = 1_000;

const soaksLast = (ledger: Ledger): Property => ({
  name: 'soaks last',
  rule: 'a cluster is complete when each policy that soaks was complied with for so long',
  look(changes) {
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      if (isDeleted) continue;
      const known = new Set(before?.status?.clusters?.map((each) => each.name));
      const complete = (after.status?.clusters ?? []).filter((each) => each.state === 'complete' && !known.has(each.name));
      for (const { name: cluster } of complete)
        for (const ref of after.status?.managedPoliciesForUpgrade ?? []) {
          const soak = ledger.world.server.read(Policy, ref)?.metadata.annotations?.[Annotation.soakSeconds];
          const wantedMs = Number(soak ?? 0) * 1_000 - 2 * SECOND_MS - ledger.skewMs;
          const isTold = ledger.begunAt(after, cluster) === undefined || ledger.longestMs(ref.name, cluster) >= wantedMs;
          if (!isTold) return `${name} calls ${cluster} complete, which complied with ${ref.name} for less than ${soak} s`;
        }
    }
    return undefined;
  },
});
