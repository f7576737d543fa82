import { isJsonObject, type KubeObject, Label } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { eachAttempt } from '../world.ts';
import { GROUP, installOperator, NAMESPACE, playUpgrade, readOperator, subscription } from './operators.ts';
import { COMPLETED, RolloutWorld, spokeNames } from './world.ts';

const PLAN = 'install-x7k2p';

let world: RolloutWorld;
/** Views and actions in the order a watch saw them created. */
const seen: KubeObject[] = [];
let stop = new AbortController();

eachAttempt(
  async () => {
    seen.length = 0;
    stop = new AbortController();
    const fleets = { batch: 3, refuse: 2, pair: 1, kill: 1 };
    world = await RolloutWorld.start({
      processes: true,
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
  },
  async () => {
    stop.abort();
    await world?.stop();
  },
);

const isApproved = (cluster: string): boolean => {
  const spec = readOperator(world.spokes, cluster, 'InstallPlan', PLAN)?.spec;
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

/** What OLM does on a cluster once the policy is enforced. */
const playOperators = (cluster: string, policy: string, ...operators: string[]) =>
  playUpgrade(world, { cluster, policy: `policies/${policy}`, plan: PLAN, operators });

test.concurrent('operators are upgraded batch by batch: each InstallPlan is approved once, and nothing is left behind', async () => {
  const clusters = spokeNames(3, 'batch');
  for (const cluster of clusters) installOperator(world, cluster, 'operator');
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
    expect(readOperator(world.spokes, cluster, 'InstallPlan', PLAN)?.metadata.labels).toEqual({ 'operators.coreos.com/owner': '' });
  }
  await world.untilClean(clusters);
  expect((await world.recorded('batch')).toSorted()).toEqual(clusters.map((cluster) => `${cluster}: complete`));
  // The second batch began when the first had ended.
  const at = (cluster: string) => world.spokes.events(cluster).find(({ name }) => name === PLAN)?.at ?? Number.NaN;
  expect(at('batch-3')).toBeGreaterThan(Math.max(at('batch-1'), at('batch-2')));
});

test.concurrent('a spoke that refuses holds nobody else; after the time-out nothing is left that could fire later', async () => {
  const clusters = spokeNames(2, 'refuse');
  for (const cluster of clusters) installOperator(world, cluster, 'operator');
  await world.policies(clusters, { 'refuse-op': { objects: [subscription('operator')] } });
  void playOperators('refuse-1', 'refuse-op', 'operator').catch(() => undefined);
  const played = playOperators('refuse-2', 'refuse-op', 'operator');
  await world.upgrade('refuse', clusters, ['refuse-op']);
  await played;
  await eventually(async () => (await world.recorded('refuse')).includes('refuse-2: complete'), 'the other cluster to complete');
  await eventually(() => approvals('refuse-1').length >= 4, 'the approval to be tried again');
  await world.edit('refuse', { remediationStrategy: { timeout: 0 } });
  await world.untilCondition('refuse', 'Succeeded', 'False TimedOut: Policy remediation took too long');
  await world.untilEnded('refuse');
  expect(await world.hubObjects('refuse-1')).toEqual([]);
  expect(isApproved('refuse-1')).toBe(false);
  // Whoever plays it waits no longer.
  installOperator(world, 'refuse-1', 'operator');
});

test.concurrent('Subscriptions that share an InstallPlan approve it once', async () => {
  for (const name of ['first', 'second']) installOperator(world, 'pair-1', name);
  await world.policies(['pair-1'], { 'pair-op': { objects: [subscription('first'), subscription('second')] } });
  const played = playOperators('pair-1', 'pair-op', 'first', 'second');
  await world.upgrade('pair', ['pair-1'], ['pair-op']);
  await world.untilCompleted('pair');
  await played;
  expect(approvals('pair-1')).toEqual(['action-executed']);
});

test('a hub that is killed between a view and its approval approves once', async () => {
  installOperator(world, 'kill-1', 'operator');
  await world.policies(['kill-1'], { 'kill-op': { objects: [subscription('operator')] } });
  const played = playOperators('kill-1', 'kill-op', 'operator');
  await world.upgrade('kill', ['kill-1'], ['kill-op']);
  await eventually(async () => (await world.hubObjects('kill-1')).length > 0);
  await world.hub?.stop({ signal: 'SIGKILL' });
  await world.startHub({ args: ['--lease-name', 'after-the-kill'] });
  await world.untilCondition('kill', 'Succeeded', `True ${COMPLETED}`);
  await played;
  expect(approvals('kill-1')).toEqual(['action-executed']);
  await world.untilEnded('kill');
  expect(await world.hubObjects('kill-1')).toEqual([]);
});
