import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { installOperator, playUpgrade, subscription } from '../../integration/rollout/operators.ts';
import { expectOrderlyBatches } from '../../integration/rollout/orderly.ts';
import { RolloutWorld, spokeNames } from '../../integration/rollout/world.ts';
import { eachAttempt } from '../../integration/world.ts';
import { startRedis, type TestRedis } from '../../system/precache/redis.ts';
import { type AuditedUpgrade, auditWrites, HUB_USER, readRollout } from '../../system/rollout/audited.ts';
import { readChaosConfig } from './config.ts';
import { Chaos, drawStrikes } from './strikes.ts';
import { startWatchRelay, type WatchRelay } from './watch-relay.ts';

const { moments, spokes, seed } = readChaosConfig();
const CLUSTERS = spokeNames(spokes);
const BATCH = Math.ceil(spokes / 5);
const PLAN = Array.from({ length: Math.ceil(CLUSTERS.length / BATCH) }, (_, index) => CLUSTERS.slice(index * BATCH, (index + 1) * BATCH));
/** Clusters with an operator that the first policy upgrades; its InstallPlan wants an approval. */
const OPERATED = CLUSTERS.filter((_, index) => index % 4 === 0);
const planOf = (upgrade: string) => `install-${upgrade}`;
const RUN_MS = 180_000;
/** Strikes in one run. */
const MOST_PER_RUN = 6;

type Mode = 'policy' | 'manifestwork';

let dir: string;
let auditLog: string;
let world: RolloutWorld;
let redis: TestRedis | undefined;
let relay: WatchRelay;
let chaos: Chaos;
const random = createRandom(seed);
const drawn = drawStrikes(moments, random);

eachAttempt(
  async () => {
    dir = await mkdtemp(join(tmpdir(), 'flotilla-chaos-'));
    redis = await startRedis(dir);
    if (!redis) return;
    auditLog = join(dir, 'audit.log');
    world = await RolloutWorld.start({
      spokes: CLUSTERS,
      simulated: { work: { seconds: 0.5, jitter: 0.5 } },
      apiServer: auditWrites(auditLog),
      withoutHub: true,
      seed,
    });
    relay = await startWatchRelay(world.server, HUB_USER);
    chaos = new Chaos({ world, redis, relay });
    await chaos.startHub();
    await chaos.startWorker();
  },
  async () => {
    await chaos?.stop();
    await world?.stop();
    await relay?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  },
);

/**
 * Two policies or templates for all clusters, and an upgrade of that name with labels at its beginning and end. The first policy upgrades
 * an operator where there is one.
 */
async function begin(name: string, mode: Mode): Promise<AuditedUpgrade> {
  const steps = [`${name}-a`, `${name}-b`];
  const [first = '', second = ''] = steps;
  if (mode === 'policy') {
    for (const cluster of OPERATED) installOperator(world, cluster, 'operator');
    await world.policies(CLUSTERS, { [first]: { objects: [subscription('operator')] }, [second]: {} });
    for (const step of steps)
      for (const cluster of CLUSTERS) world.propagator.script(`policies/${step}`, cluster, { seconds: 0.3 + random() * 1.5 });
    const upgrade = { policy: `policies/${first}`, plan: planOf(name), operators: ['operator'], timeoutMs: RUN_MS };
    // Whether they got there is for the end of the upgrade to say.
    for (const cluster of OPERATED) playUpgrade(world, { ...upgrade, cluster }).catch(() => undefined);
  } else for (const step of steps) await createTemplate(world.client, step);
  const sinceMs = Date.now();
  await world.upgrade(name, CLUSTERS, mode === 'policy' ? steps : [], {
    ...(mode === 'manifestwork' && { manifestWorkTemplates: steps }),
    remediationStrategy: { maxConcurrency: BATCH, timeout: 240 },
    actions: {
      beforeEnable: { addClusterLabels: { upgrading: name } },
      afterCompletion: { addClusterLabels: { upgraded: name }, removeClusterLabels: ['upgrading'] },
    },
  });
  return { upgrade: name, steps, sinceMs };
}

const hasEnded = async (name: string) => (await world.get(name))?.status?.status.completedAt !== undefined;

/** All of the status that does not tell of times. */
async function endOf(name: string) {
  const { status } = (await world.get(name)) ?? {};
  const { placements, bindings } = await world.objectsOf(name);
  const lists = await Promise.all([ManifestWork, ManagedClusterView, ManagedClusterAction].map((kind) => world.client.list(kind, {})));
  return {
    conditions: status?.conditions?.map(({ type, status: value, reason, message }) => ({ type, value, reason, message })),
    clusters: (await world.recorded(name)).toSorted(),
    plan: status?.remediationPlan,
    concurrency: status?.computedMaxConcurrency,
    status: { ...status?.status, startedAt: typeof status?.status.startedAt, completedAt: typeof status?.status.completedAt },
    left: [...placements, ...bindings, ...lists.flatMap(({ items }) => items)].map(({ metadata }) => metadata.name),
    labels: new Set(await Promise.all(CLUSTERS.map(async (each) => JSON.stringify({ ...(await world.labels(each)), name: '' })))),
  };
}

/** What the spoke did for the hub with an InstallPlan. */
const actionsOn = (cluster: string, plan: string): string[] =>
  world.spokes
    .events(cluster)
    .filter(({ type, name }) => type.startsWith('action') && name === plan)
    .map(({ type }) => type);

/** Nothing twice, and nobody before the turn of its batch; by the API server's record alone. */
async function expectOrder(audited: AuditedUpgrade, mode: Mode, after: string): Promise<void> {
  if (mode === 'policy') {
    await expectOrderlyBatches(world, audited.upgrade);
    for (const cluster of OPERATED)
      expect(actionsOn(cluster, planOf(audited.upgrade)), `approvals on ${cluster} ${after}`).toEqual(['action-executed']);
  }
  const { begun, done, edits, batches } = await readRollout(auditLog, audited);
  expect(batches, `batches ${after}`).toEqual(PLAN.map((_, index) => index + 1));
  for (const cluster of CLUSTERS) {
    for (const step of audited.steps) expect(begun.get(`${step} ${cluster}`), `${step} on ${cluster} ${after}`).toHaveLength(1);
    expect(edits.get(cluster), `edits of ${cluster} ${after}`).toHaveLength(2);
    expect(done.get(cluster), `end of ${cluster} ${after}`).toBeGreaterThan(0);
  }
  expect(begun.size, `steps ${after}`).toBe(audited.steps.length * CLUSTERS.length);
  const beginOf = (cluster: string) => begun.get(`${audited.steps[0]} ${cluster}`)?.[0] ?? Number.NaN;
  for (const [index, batch] of PLAN.slice(1).entries()) {
    const ended = Math.max(...(PLAN[index] ?? []).map((cluster) => done.get(cluster) ?? Number.NaN));
    expect(Math.min(...batch.map(beginOf)), `beginning of batch ${index + 2} ${after}`).toBeGreaterThan(ended);
  }
}

test.for(['policy', 'manifestwork'] as const)(
  `%s: half of ${moments} random strikes, seed ${seed}: same end as without, nothing twice, nobody before its turn`,
  { timeout: RUN_MS * 2 + moments * 30_000 },
  async (mode, { skip }) => {
    if (!redis) return skip('redis-server is not on PATH');
    const calm = await begin(`calm-${mode}`, mode);
    await eventually(() => hasEnded(calm.upgrade), 'the undisturbed upgrade to end', RUN_MS);
    const calmMs = Date.now() - calm.sinceMs;
    const expected = await endOf(calm.upgrade);
    expect(expected.clusters).toEqual(CLUSTERS.map((cluster) => `${cluster}: complete`).toSorted());
    expect(expected.conditions).toContainEqual(expect.objectContaining({ type: 'Succeeded', value: 'True', reason: 'Completed' }));
    expect(expected.plan).toEqual(PLAN);
    await expectOrder(calm, mode, 'undisturbed');

    const strikes = drawn.filter((_, index) => (index % 2 === 0) === (mode === 'policy'));
    const log: string[] = [];
    for (let run = 1; strikes.length > 0; run += 1) {
      const audited = await begin(`${mode}-${run}`, mode);
      const name = audited.upgrade;
      await eventually(async () => (await world.get(name))?.status?.status.startedAt, `${name} to start`, 60_000);
      // Spread over the run, and no more than it has room for.
      const share = calmMs / (Math.min(strikes.length, MOST_PER_RUN) + 1);
      while (strikes.length > 0) {
        await new Promise((resolve) => setTimeout(resolve, 200 + random() * 2 * share));
        if (await hasEnded(name)) break;
        const strike = strikes.pop();
        const { currentBatch = 0 } = (await world.get(name))?.status?.status ?? {};
        log.push(`${strike} in batch ${currentBatch} of ${name}`);
        if (strike) await chaos.strike(strike);
      }
      const after = `after ${log.join(', ')}`;
      await eventually(() => hasEnded(name), `${name} to end ${after}`, RUN_MS);
      const end = JSON.parse(JSON.stringify(await endOf(name), named(name)));
      expect(end, after).toEqual(JSON.parse(JSON.stringify(expected, named(calm.upgrade))));
      await expectOrder(audited, mode, after);
    }
    process.stdout.write(`${mode}: ${log.join(', ')}\n`);
  },
);

/** The name of the upgrade is all that differs between the texts of two. */
const named = (name: string) => (_: string, value: unknown) =>
  value instanceof Set ? [...value] : typeof value === 'string' ? value.replaceAll(name, 'UPGRADE') : value;
