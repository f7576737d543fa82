import { isJsonObject, Label } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type SimulatedSpokes, type StoredObject, startSimulatedSpokes } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attempt, running, SpokeHub, type StepProcess, stepOf } from '../../../testing/spoke-hub.ts';

const SPOKES = ['plain', 'conflict', 'refused', 'crashed', 'automatic', 'away', 'shared', 'done'] as const;
type Spoke = (typeof SPOKES)[number];

let server: ApiServer;
let hub: SpokeHub;
let spokes: SimulatedSpokes;
let worker: StepProcess;
beforeAll(async () => {
  server = await startApiServer();
  hub = await SpokeHub.start(await server.client());
  for (const name of SPOKES) await hub.spoke(name);
  spokes = await startSimulatedSpokes({
    client: hub.client,
    names: [...SPOKES],
    seed: 1,
    job: { seconds: 1, jitter: 0 },
    work: { seconds: 0.2, jitter: 0 },
    faults: { refused: { failActions: { [PLAN]: 2 } } },
  });
  worker = await hub.startProcess();
});
afterAll(async () => {
  await spokes?.stop();
  hub?.stop();
  await server?.stop();
});

const PLAN = 'install-abcde';
const GROUP = 'operators.coreos.com/v1alpha1';
const content = (...names: string[]) =>
  JSON.stringify(names.map((name) => ({ kind: 'Subscription', name, apiVersion: GROUP, namespace: 'operators' })));

/** Builds an upgrade with one spoke at a policy with Subscriptions. */
const atPolicy = (spoke: Spoke, subscriptions = content('operator'), name: string = spoke) =>
  hub.upgrade(
    name,
    { managedPolicies: ['p'] },
    running(
      { [spoke]: { state: 'InProgress', policyIndex: 0 } },
      { managedPoliciesForUpgrade: [{ name: 'p', namespace: 'policies' }], managedPoliciesContent: { p: subscriptions } },
    ),
  );

const kindOn = (spoke: Spoke, kind: string) => {
  const served = spokes.store(spoke).kinds.find((each) => each.kind === kind);
  if (!served) throw new Error(`spokes serve no ${kind}`);
  return served;
};

/** Installs an operator on a spoke whose upgrade waits for its InstallPlan. */
function installOperator(spoke: Spoke, approval = 'Manual', names = ['operator']): void {
  const store = spokes.store(spoke);
  store.put(kindOn(spoke, 'Namespace'), undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'operators' } });
  store.put(kindOn(spoke, 'InstallPlan'), 'operators', {
    apiVersion: GROUP,
    kind: 'InstallPlan',
    metadata: { name: PLAN, namespace: 'operators', labels: { owner: 'olm' } },
    spec: { approval, approved: false, clusterServiceVersionNames: ['operator.v2'] },
  });
  for (const name of names) {
    const subscription = store.put(kindOn(spoke, 'Subscription'), 'operators', {
      apiVersion: GROUP,
      kind: 'Subscription',
      metadata: { name, namespace: 'operators' },
      spec: { channel: 'stable' },
    });
    const status = { state: 'UpgradePending', installPlanRef: { name: PLAN, namespace: 'operators' }, installplan: { name: PLAN } };
    store.setStatus(kindOn(spoke, 'Subscription'), subscription.metadata, status);
  }
}

const planOn = (spoke: Spoke): StoredObject | undefined => spokes.store(spoke).read(kindOn(spoke, 'InstallPlan'), 'operators', PLAN);
const isApproved = (spoke: Spoke): boolean => {
  const spec = planOn(spoke)?.spec;
  return isJsonObject(spec) && spec.approved === true;
};
/** Lists the executed approvals on a spoke, in order. */
const executions = (spoke: Spoke): string[] =>
  spokes
    .events(spoke)
    .filter(({ type, name }) => type.startsWith('action') && name === PLAN)
    .map(({ type }) => type);

/** Repeats the step, as changes in the watch caches would. */
async function runUntil(
  condition: () => boolean | Promise<boolean>,
  upgrade: ClusterGroupUpgrade,
  spoke: Spoke,
  process = worker.process,
): Promise<void> {
  await eventually(async () => {
    await attempt(process, stepOf(upgrade, spoke));
    return condition();
  });
}

/** Repeats the step long enough to see any further write. */
async function runOut(upgrade: ClusterGroupUpgrade, spoke: Spoke): Promise<void> {
  const reads = () => spokes.events(spoke).filter(({ type }) => type === 'view-read').length;
  const before = reads();
  await runUntil(() => reads() >= before + 4, upgrade, spoke);
}

test('a manual InstallPlan is approved once, and keeps its labels', async () => {
  installOperator('plain');
  const upgrade = await atPolicy('plain');
  await runUntil(() => isApproved('plain'), upgrade, 'plain');
  await runOut(upgrade, 'plain');
  expect(executions('plain')).toEqual(['action-executed']);
  expect(planOn('plain')?.metadata.labels).toEqual({ owner: 'olm' });
  expect(planOn('plain')?.spec).toEqual({ approval: 'Manual', approved: true, clusterServiceVersionNames: ['operator.v2'] });

  const [action] = await hub.actions('plain');
  expect(action?.metadata).toMatchObject({
    name: PLAN,
    labels: { [Label.upgradeName]: 'default-plain', [Label.upgradeUid]: upgrade.metadata.uid },
  });
  const views = await hub.views('plain');
  expect(views.map(({ metadata }) => metadata.name.replace(/(operator)-[a-z0-9]{5}$/, '$1'))).toEqual([
    PLAN,
    'plain-default-subscription-operator',
  ]);
  for (const { metadata } of views)
    expect(metadata.labels).toMatchObject({ [Label.upgradeName]: 'plain', [Label.upgradeNamespace]: 'default' });
});

test('an InstallPlan that changed after its view is viewed again and then approved', async () => {
  installOperator('conflict');
  const upgrade = await atPolicy('conflict');
  const views = async () => (await hub.views('conflict')).find(({ metadata }) => metadata.name === PLAN);
  await runUntil(
    async () => (await views())?.status?.result !== undefined,
    upgrade,
    'conflict',
    async (step) => {
      // The view has the plan, and the spoke's agent is cut off from the hub before the approval reaches it.
      if ((await views())?.status?.result === undefined) await worker.process(step);
    },
  );
  const seen = await views();
  spokes.disconnect('conflict');
  const store = spokes.store('conflict');
  const plan = planOn('conflict');
  store.setStatus(
    kindOn('conflict', 'InstallPlan'),
    { ...plan?.metadata, name: PLAN, uid: plan?.metadata.uid ?? '', resourceVersion: '' },
    { phase: 'RequiresApproval' },
  );
  await runUntil(async () => (await hub.actions('conflict')).length > 0, upgrade, 'conflict');
  spokes.reconnect('conflict');

  await runUntil(() => isApproved('conflict'), upgrade, 'conflict');
  await runOut(upgrade, 'conflict');
  // A failing action is executed twice (spec/ocm 1.6).
  expect(executions('conflict')).toEqual(['action-failed', 'action-failed', 'action-executed']);
  expect((await views())?.metadata.uid).not.toBe(seen?.metadata.uid);
});

test('a spoke that refuses is asked again after a pause', async () => {
  installOperator('refused');
  const upgrade = await atPolicy('refused');
  await runUntil(() => isApproved('refused'), upgrade, 'refused');
  const failed = spokes.events('refused').filter(({ type }) => type === 'action-failed');
  const executed = spokes.events('refused').find(({ type }) => type === 'action-executed');
  expect(failed).toHaveLength(2);
  expect((executed?.at ?? 0) - (failed.at(-1)?.at ?? 0)).toBeGreaterThan(900);
});

test('processes that die after any one of their writes approve once in the end', async () => {
  installOperator('crashed');
  const upgrade = await atPolicy('crashed');
  await eventually(async () => {
    const dying = await hub.startProcess(1);
    await attempt(dying.process, stepOf(upgrade, 'crashed')).catch(() => undefined);
    return isApproved('crashed');
  });
  await runOut(upgrade, 'crashed');
  expect(executions('crashed')).toEqual(['action-executed']);
});

test('an automatic InstallPlan is left alone', async () => {
  installOperator('automatic', 'Automatic');
  const upgrade = await atPolicy('automatic');
  await runUntil(() => spokes.events('automatic').some(({ type, name }) => type === 'view-read' && name === PLAN), upgrade, 'automatic');
  await runOut(upgrade, 'automatic');
  expect(await hub.actions('automatic')).toEqual([]);
  expect(isApproved('automatic')).toBe(false);
});

test('nothing is approved on a cluster that is not available', async () => {
  installOperator('away');
  const upgrade = await atPolicy('away');
  await hub.setAvailable('away', false);
  await eventually(() => worker.caches.clusters.get({ name: 'away' })?.status?.conditions?.[0]?.status === 'False');
  await runUntil(() => spokes.events('away').some(({ type, name }) => type === 'view-read' && name === PLAN), upgrade, 'away');
  await runOut(upgrade, 'away');
  expect(await hub.actions('away')).toEqual([]);
  await hub.setAvailable('away', true);
  await runUntil(() => isApproved('away'), upgrade, 'away');
});

test('two Subscriptions of one InstallPlan, and two upgrades of one cluster, approve it once', async () => {
  installOperator('shared', 'Manual', ['operator', 'second']);
  const upgrade = await atPolicy('shared', content('operator', 'second'));
  const other = await atPolicy('shared', content('operator'), 'shared-too');
  await runUntil(
    async () => {
      await attempt(worker.process, stepOf(other, 'shared'));
      return isApproved('shared');
    },
    upgrade,
    'shared',
  );
  await runOut(upgrade, 'shared');
  await runOut(other, 'shared');
  expect(executions('shared')).toEqual(['action-executed']);
});

test('a cluster that is done keeps neither views nor actions', async () => {
  installOperator('done');
  const upgrade = await atPolicy('done');
  await runUntil(() => isApproved('done'), upgrade, 'done');
  const completed = await hub.store('done', running({ done: { state: 'Completed', policyIndex: null } }));
  await eventually(async () => {
    await attempt(worker.process, stepOf(completed, 'done'));
    return (await hub.views('done')).length + (await hub.actions('done')).length === 0;
  });
});
