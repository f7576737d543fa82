import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { clustersAgain, type Ledger, verdictOf } from './ledger.ts';
import type { Property } from './property.ts';

/** What the hub says of clusters and upgrades, and what was seen of them. */
export function verdicts(ledger: Ledger): Property[] {
  return [completeWasSeen(ledger), pulledWasSeen(ledger), successOfAll(ledger), successIsNow(ledger), forward(ledger)];
}

/** Milliseconds from what a cluster does to what the hub says of it. */
const NEWS_MS = 10_000;

const completeWasSeen = (ledger: Ledger): Property => ({
  name: 'complete was seen',
  rule: 'a cluster is complete because it was seen to comply with every policy that was meant for it after its batch began',
  look(changes) {
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      if (isDeleted) continue;
      const known = new Set(before?.status?.clusters?.filter(({ state }) => state === 'complete').map((each) => each.name));
      const status = after.status;
      for (const { name: cluster, state } of status?.clusters ?? []) {
        if (state !== 'complete' || known.has(cluster)) continue;
        const policies = status?.managedPoliciesForUpgrade ?? [];
        const began = ledger.begunAt(after, cluster) ?? ledger.now;
        const missing = policies.filter(
          (policy) => !ledger.compliedSince(policy.name, cluster, began) && !ledger.isOffSince(policy.name, cluster, began),
        );
        const undone = (status?.manifestWorkTemplates ?? []).filter((template) => !ledger.isWorkDone(name, template, cluster));
        if (undone.length > 0) return `${name} calls ${cluster} complete, where works of ${undone.join(', ')} were not seen done`;
        if (missing.length > 0)
          return `${name} calls ${cluster} complete, which did not comply with ${missing.map((each) => each.name).join(', ')} since its batch began`;
      }
    }
    return undefined;
  },
});

const pulledWasSeen = (ledger: Ledger): Property => ({
  name: 'pulled was seen',
  rule: 'the images of a cluster are there because a job succeeded on it since the upgrade was asked for',
  look(changes) {
    const { spokes } = ledger.world;
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      if (isDeleted) continue;
      for (const [cluster, state] of Object.entries(after.status?.precaching?.status ?? {})) {
        if (state !== 'Succeeded' || before?.status?.precaching?.status?.[cluster] === 'Succeeded') continue;
        const since = ledger.askedAt(name);
        const own = new Set(spokes.jobsCreated(cluster).flatMap(({ at, uid }) => (at >= since ? [uid] : [])));
        const succeeded = spokes.events(cluster).some(({ type, uid = '' }) => type === 'pods-succeeded' && own.has(uid));
        if (!succeeded) return `${name} says that ${cluster} has its images, and no job succeeded there`;
      }
    }
    return undefined;
  },
});

const successOfAll = (ledger: Ledger): Property => ({
  name: 'success of all',
  rule: 'an upgrade has succeeded when every cluster of its plan is complete, or got there after its time',
  look(changes) {
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      // Nothing that happens to a policy after the end changes a verdict.
      if (isDeleted || verdictOf(after)?.status !== 'True' || (before && verdictOf(before)?.status === 'True')) continue;
      const complete = new Set(after.status?.clusters?.filter(({ state }) => state === 'complete').map((each) => each.name));
      // Whoever timed out may have got there since.
      const isDone = (cluster: string) =>
        (after.status?.managedPoliciesForUpgrade ?? []).every((policy) => ledger.compliedSince(policy.name, cluster, ledger.now - NEWS_MS));
      const late = new Set(after.status?.clusters?.filter(({ state }) => state === 'timedout').map((each) => each.name));
      const planned = (after.status?.remediationPlan ?? []).flat();
      const open = planned.filter(
        (cluster) => !complete.has(cluster) && !(late.has(cluster) && (ledger.isTroubled(ledger.now - NEWS_MS) || isDone(cluster))),
      );
      if (open.length > 0) return `${name} has succeeded, and ${open.join(', ')} is not complete`;
    }
    return undefined;
  },
});

const successIsNow = (ledger: Ledger): Property => ({
  name: 'success is now',
  rule: 'when an upgrade succeeds, every cluster of its plan complies with every policy that is meant for it',
  look(changes) {
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      if (isDeleted || verdictOf(after)?.status !== 'True' || (before && verdictOf(before))) continue;
      if (ledger.isTroubled(ledger.now - NEWS_MS)) return undefined;
      const since = ledger.now - NEWS_MS;
      for (const cluster of (after.status?.remediationPlan ?? []).flat())
        for (const { name: policy } of after.status?.managedPoliciesForUpgrade ?? [])
          if (!ledger.compliedSince(policy, cluster, since) && !ledger.isOffSince(policy, cluster, since))
            return `${name} succeeds, and ${cluster} does not comply with ${policy}`;
    }
    return undefined;
  },
});

const forward = (ledger: Ledger): Property => ({
  name: 'never back',
  rule: 'a stored status never goes back: starts and ends stay, records of clusters stay, batches count up',
  look(changes) {
    for (const { name, after, before, isDeleted } of ledger.upgradesIn(changes)) {
      if (isDeleted || !before?.status || !after.status) continue;
      const wrong = wentBack(before.status, after.status, ledger.hasLeft);
      if (wrong !== undefined) return `${name} ${wrong}`;
      if (verdictOf(before) && !verdictOf(after) && !isRetried(before.status, after.status))
        return `${name} had a verdict, and has none now`;
    }
    return undefined;
  },
});

const isRetried = (before: ClusterGroupUpgradeStatus, after: ClusterGroupUpgradeStatus): boolean =>
  before.lastHandledRetryAt !== after.lastHandledRetryAt;

function wentBack(before: ClusterGroupUpgradeStatus, after: ClusterGroupUpgradeStatus, hasLeft: ReadonlySet<string>): string | undefined {
  const [was, is] = [before.status, after.status];
  if (was.startedAt !== undefined && is.startedAt !== was.startedAt) return `started at ${was.startedAt}, and now at ${is.startedAt}`;
  if (isRetried(before, after)) return undefined;
  if (was.completedAt !== undefined && is.completedAt !== was.completedAt)
    return `ended at ${was.completedAt}, and now at ${is.completedAt}`;
  if ((is.currentBatch ?? 0) < (was.currentBatch ?? 0) && is.completedAt === undefined)
    return `was in batch ${was.currentBatch}, and now in ${is.currentBatch}`;
  // Before the start records follow the pulls, which may have to be made again.
  if (was.startedAt === undefined) return undefined;
  const records = new Map((after.clusters ?? []).map((each) => [each.name, each.state]));
  const again = clustersAgain(after);
  const ahead = new Set((after.remediationPlan ?? []).slice(Math.max(0, (is.currentBatch ?? 0) - 1)).flat());
  // One that complied from the beginning and does not any more comes again, and pulls first.
  const pullsFirst = (name: string, state: string): boolean =>
    state === 'complete' && ahead.has(name) && before.precaching?.status?.[name] !== 'Succeeded';
  const lost = (before.clusters ?? []).find(({ name, state }) => {
    const now = records.get(name);
    if (now === undefined && pullsFirst(name, state ?? '')) return false;
    return now !== state && !(state === 'timedout' && now === 'complete') && !again.includes(name) && !hasLeft.has(name);
  });
  return lost && `had recorded ${lost.name} as ${lost.state}, and now as ${records.get(lost.name)}`;
}
