import { isJsonObject, type KubeObject, Label, ManagedClusterAction, ManagedClusterView } from '@flotilla/api';
import type { StoredObject } from '@flotilla/control-plane';
import { WatchCache } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../fixtures/eventually.ts';
import { COMPLETED, RolloutWorld, spokeNames } from './world.ts';

const GROUP = 'operators.coreos.com/v1alpha1';
const NAMESPACE = 'operators';
const PLAN = 'install-x7k2p';

let world: RolloutWorld;
/** Views and actions in the order a watch saw them created. */
const seen: KubeObject[] = [];
const stop = new AbortController();

beforeAll(async () => {
  const fleets = { batch: 3, refuse: 2, pair: 1, kill: 1 };
  world = await RolloutWorld.start({
    spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
    simulated: { work: { seconds: 0.3, jitter: 0 }, faults: { 'refuse-1': { failActions: { [PLAN]: 1_000 } } } },
  });
  for (const kind of [ManagedClusterView, ManagedClusterAction]) {
    const cache = new WatchCache<KubeObject>(world.client, kind, {});
    cache.subscribe(({ type, object, previous }) => {
      if (type === 'set' && previous?.metadata.uid !== object.metadata.uid) seen.push(object);
    });
    cache.start(stop.signal);
  }
});
afterAll(async () => {
  stop.abort();
  await world?.stop();
});

const kindOn = (cluster: string, kind: string) => {
  const served = world.spokes.store(cluster).kinds.find((each) => each.kind === kind);
  if (!served) throw new Error(`spokes serve no ${kind}`);
  return served;
};
const readOn = (cluster: string, kind: string, name: string): StoredObject | undefined =>
  world.spokes.store(cluster).read(kindOn(cluster, kind), NAMESPACE, name);
const stateOf = (cluster: string, subscription: string): unknown => {
  const status = readOn(cluster, 'Subscription', subscription)?.status;
  return isJsonObject(status) ? status.state : undefined;
};
const isApproved = (cluster: string): boolean => {
  const spec = readOn(cluster, 'InstallPlan', PLAN)?.spec;
  return isJsonObject(spec) && spec.approved === true;
};
const approvals = (cluster: string): string[] =>
  world.spokes
    .events(cluster)
    .filter(({ type, name }) => type.startsWith('action') && name === PLAN)
    .map(({ type }) => type);
const created = (cluster: string): string[] =>
  seen
    .filter(({ metadata }) => metadata.namespace === cluster)
    .map(
      ({ kind, metadata }) =>
        `${kind} ${metadata.name.replace(/(operator)-[a-z0-9]{5}$/, '$1')} of ${metadata.labels?.[Label.upgradeName]}`,
    );
const hubObjects = (cluster: string) =>
  Promise.all([ManagedClusterView, ManagedClusterAction].map((kind) => world.client.list(kind, { namespace: cluster }))).then((lists) =>
    lists.flatMap(({ items }) => items),
  );

const subscription = (name: string) => ({
  apiVersion: GROUP,
  kind: 'Subscription',
  metadata: { name, namespace: NAMESPACE },
  spec: { name, channel: 'stable-2', installPlanApproval: 'Manual' },
});

/** Operators that are installed and up to date. */
function install(cluster: string, ...names: string[]): void {
  const store = world.spokes.store(cluster);
  store.put(kindOn(cluster, 'Namespace'), undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  for (const name of names) {
    const stored = store.put(kindOn(cluster, 'Subscription'), NAMESPACE, subscription(name));
    store.setStatus(kindOn(cluster, 'Subscription'), stored.metadata, { state: 'AtLatestKnown', installedCSV: `${name}.v1` });
  }
}

/**
 * What OLM does on a cluster once the policy is enforced: one InstallPlan for the namespace, for which the Subscriptions wait. The policy
 * is compliant when they are up to date again.
 */
async function playOperators(cluster: string, policy: string, ...names: string[]): Promise<void> {
  world.propagator.script(`policies/${policy}`, cluster, { never: true });
  const signalled = () => stop.signal.aborted;
  await eventually(
    () => signalled() || world.happened(policy, cluster).includes('enforced'),
    90_000,
    `${policy} to be enforced on ${cluster}`,
  );
  const store = world.spokes.store(cluster);
  store.put(kindOn(cluster, 'InstallPlan'), NAMESPACE, {
    apiVersion: GROUP,
    kind: 'InstallPlan',
    metadata: { name: PLAN, namespace: NAMESPACE, labels: { 'operators.coreos.com/owner': '' } },
    spec: { approval: 'Manual', approved: false, clusterServiceVersionNames: names.map((name) => `${name}.v2`) },
  });
  for (const name of names) {
    const stored = readOn(cluster, 'Subscription', name);
    const status = {
      state: 'UpgradePending',
      installedCSV: `${name}.v1`,
      currentCSV: `${name}.v2`,
      installPlanRef: { name: PLAN, namespace: NAMESPACE },
    };
    if (stored) store.setStatus(kindOn(cluster, 'Subscription'), stored.metadata, status);
  }
  await eventually(
    () => signalled() || names.every((name) => stateOf(cluster, name) === 'AtLatestKnown'),
    90_000,
    `operators of ${cluster} to be upgraded`,
  );
  world.propagator.report(`policies/${policy}`, cluster, 'Compliant');
}

test.concurrent('operators are upgraded batch by batch: each InstallPlan is approved once, and nothing is left behind', async () => {
  const clusters = spokeNames(3, 'batch');
  for (const cluster of clusters) install(cluster, 'operator');
  await world.policies(clusters, { 'batch-op': { objects: [subscription('operator')] } });
  const played = clusters.map((cluster) => playOperators(cluster, 'batch-op', 'operator'));
  await world.upgrade('batch', clusters, ['batch-op'], { remediationStrategy: { maxConcurrency: 2, timeout: 240 } });
  await world.untilCompleted('batch');
  await Promise.all(played);
  expect((await world.get('batch'))?.status?.managedPoliciesContent).toEqual({
    'batch-op': `[{"kind":"Subscription","name":"operator","apiVersion":"${GROUP}","namespace":"${NAMESPACE}"}]`,
  });
  for (const cluster of clusters) {
    expect([...new Set(created(cluster))].toSorted()).toEqual([
      `ManagedClusterAction ${PLAN} of default-batch`,
      'ManagedClusterView batch-default-subscription-operator of batch',
      `ManagedClusterView ${PLAN} of batch`,
    ]);
    expect(approvals(cluster)).toEqual(['action-executed']);
    expect(readOn(cluster, 'InstallPlan', PLAN)?.metadata.labels).toEqual({ 'operators.coreos.com/owner': '' });
    await eventually(async () => (await hubObjects(cluster)).length === 0, 30_000, `the hub objects of ${cluster} to be gone`);
  }
  expect((await world.recorded('batch')).toSorted()).toEqual(clusters.map((cluster) => `${cluster}: complete`));
  // The second batch began when the first had ended.
  const at = (cluster: string) => world.spokes.events(cluster).find(({ name }) => name === PLAN)?.at ?? Number.NaN;
  expect(at('batch-3')).toBeGreaterThan(Math.max(at('batch-1'), at('batch-2')));
});

test.concurrent('a spoke that refuses holds nobody else; after the time-out nothing is left that could fire later', async () => {
  const clusters = spokeNames(2, 'refuse');
  for (const cluster of clusters) install(cluster, 'operator');
  await world.policies(clusters, { 'refuse-op': { objects: [subscription('operator')] } });
  void playOperators('refuse-1', 'refuse-op', 'operator').catch(() => undefined);
  const played = playOperators('refuse-2', 'refuse-op', 'operator');
  await world.upgrade('refuse', clusters, ['refuse-op']);
  await played;
  await eventually(async () => (await world.recorded('refuse')).includes('refuse-2: complete'), 30_000, 'the other cluster to complete');
  await eventually(() => approvals('refuse-1').length >= 4, 30_000, 'the approval to be tried again');
  await world.edit('refuse', { remediationStrategy: { timeout: 0 } });
  await world.untilCondition('refuse', 'Succeeded', 'False TimedOut: Policy remediation took too long');
  await world.untilEnded('refuse');
  expect(await hubObjects('refuse-1')).toEqual([]);
  expect(isApproved('refuse-1')).toBe(false);
});

test.concurrent('Subscriptions that share an InstallPlan approve it once', async () => {
  install('pair-1', 'first', 'second');
  await world.policies(['pair-1'], { 'pair-op': { objects: [subscription('first'), subscription('second')] } });
  const played = playOperators('pair-1', 'pair-op', 'first', 'second');
  await world.upgrade('pair', ['pair-1'], ['pair-op']);
  await world.untilCompleted('pair');
  await played;
  expect(approvals('pair-1')).toEqual(['action-executed']);
});

test('a hub that is killed between a view and its approval approves once', async () => {
  install('kill-1', 'operator');
  await world.policies(['kill-1'], { 'kill-op': { objects: [subscription('operator')] } });
  const played = playOperators('kill-1', 'kill-op', 'operator');
  await world.upgrade('kill', ['kill-1'], ['kill-op']);
  await eventually(async () => (await hubObjects('kill-1')).length > 0);
  await world.hub?.stop({ signal: 'SIGKILL' });
  await world.startHub({ args: ['--lease-name', 'after-the-kill'] });
  await world.untilCondition('kill', 'Succeeded', `True ${COMPLETED}`);
  await played;
  expect(approvals('kill-1')).toEqual(['action-executed']);
  await world.untilEnded('kill');
  expect(await hubObjects('kill-1')).toEqual([]);
});
