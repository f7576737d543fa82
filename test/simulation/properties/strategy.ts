import { Annotation } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import type { StoredChange } from '../core/world.ts';
import { clustersAgain, type Ledger } from './ledger.ts';
import type { Property } from './property.ts';

/** How the clusters of an upgrade follow each other. */
export function strategy(ledger: Ledger): Property[] {
  return [batchSizes(ledger), canariesFirst(ledger), abortEnds(ledger), heldIsHeld(ledger), hoursAreKept(ledger), soaksLast(ledger)];
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
      const { spec, status } = ledger.senderOf(upgrade) ?? {};
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
      const { spec, status } = ledger.senderOf(upgrade) ?? {};
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
