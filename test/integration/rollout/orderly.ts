import { expect } from 'vitest';
import type { RolloutWorld } from './world.ts';

/**
 * Whatever an upgrade of policies was through: batches start once and in order, each with no more clusters under way than allowed, and
 * nobody but the clusters of one batch is in a Placement; nothing is enforced before every cluster of the earlier batches ended.
 */
export async function expectOrderlyBatches(world: RolloutWorld, name: string): Promise<void> {
  const history = world.history(name);
  const upgrade = await world.get(name);
  const plan = history.plan();
  const most = upgrade?.status?.computedMaxConcurrency ?? 0;

  expect(plan.length, 'batches').toBeGreaterThan(0);
  const starts = history.batchStarts();
  expect(
    starts.map(({ batch }) => batch),
    'starts of batches',
  ).toEqual(starts.map((_, at) => at + 1));
  for (const { batch, clusters } of history.inProgress()) {
    expect(clusters.length, `clusters under way in batch ${batch}`).toBeLessThanOrEqual(most);
    for (const cluster of clusters) expect(plan[batch - 1], `batch ${batch}`).toContain(cluster);
  }
  expectMembershipByBatch(world, name, plan);
  expectEnforcedInOrder(world, name, plan, upgrade?.spec?.managedPolicies ?? []);
}

function expectMembershipByBatch(world: RolloutWorld, name: string, plan: readonly (readonly string[])[]): void {
  const batchOf = new Map(plan.flatMap((batch, index) => batch.map((cluster) => [cluster, index + 1] as const)));
  const reached = new Map<string, number>();
  for (const { upgrade, policy, clusters } of world.memberships) {
    if (upgrade !== name || clusters.length === 0) continue;
    const batches = [...new Set(clusters.map((cluster) => batchOf.get(cluster)))];
    expect(batches, `batches in the Placement for ${policy}: ${clusters.join()}`).toHaveLength(1);
    const [batch = 0] = batches;
    expect(batch, `batch in the Placement for ${policy}`).toBeGreaterThanOrEqual(reached.get(policy) ?? 1);
    reached.set(policy, batch);
  }
}

function expectEnforcedInOrder(world: RolloutWorld, name: string, plan: readonly (readonly string[])[], policies: readonly string[]): void {
  const timedOut = new Set(
    world
      .history(name)
      .sights.at(-1)
      ?.status.clusters?.flatMap(({ name: cluster, state }) => (state === 'complete' ? [] : [cluster])),
  );
  let endedAt = 0;
  for (const [index, batch] of plan.entries()) {
    const ends = [endedAt];
    for (const cluster of batch)
      for (const policy of policies) {
        const enforcedAt = world.happenedAt(policy, cluster, 'enforced');
        if (enforcedAt === undefined) continue;
        expect(enforcedAt, `${policy} enforced on ${cluster} of batch ${index + 1}, after batch ${index} ended`).toBeGreaterThanOrEqual(
          endedAt,
        );
        if (!timedOut.has(cluster)) ends.push(world.happenedAt(policy, cluster, 'Compliant') ?? Number.POSITIVE_INFINITY);
      }
    endedAt = Math.max(...ends);
  }
}
