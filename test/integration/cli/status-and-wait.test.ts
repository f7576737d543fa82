/** `flotilla status`, `wait` and `why` beside a real hub, on real API servers. */
import { StatusAnswer, WhyAnswer } from '@flotilla/api/answers';
import { Lease } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { RolloutWorld } from '../rollout/world.ts';
import { testIn } from '../world.ts';
import { flotilla } from './flotilla.ts';

const test = testIn(() => RolloutWorld.start({ spokes: ['spoke-1', 'spoke-2', 'spoke-3', 'held'] }));

test('an upgrade behind a closed window is waiting for it, and wait ends with 4 and that cause', async ({ world }) => {
  await world.policies(['spoke-1', 'spoke-2'], { shut: {} });
  const window = { 'flotilla.io/window-start': '2099-01-01T00:00:00Z' };
  await world.upgrade('shut', ['spoke-1', 'spoke-2'], ['shut'], {}, window);
  await world.untilCondition('shut', 'Progressing', /WaitingForWindow/);
  const status = await flotilla(world.server.kubeconfig, 'status', 'shut', '-o', 'json');
  expect(status).toMatchObject({ code: 0, err: '' });
  expect(StatusAnswer.parse(JSON.parse(status.out))).toMatchObject({
    stage: 'waiting',
    hub: { state: 'leads' },
    window: { state: 'closed', opensAt: '2099-01-01T00:00:00.000Z' },
    clusters: { total: 2, done: 0, left: 2 },
    waits: [{ cause: 'gate-window', clusters: 2, example: 'spoke-1' }],
  });
  const wait = await flotilla(world.server.kubeconfig, 'wait', 'shut', '--timeout', '1s');
  expect(wait.code).toBe(4);
  expect(wait.out).toMatch(/waits for +2 +spoke-1 +the window to open/);
  const beyond = await flotilla(world.server.kubeconfig, 'wait', 'default/shut', '--for', 'batch=9');
  expect(beyond).toMatchObject({
    code: 3,
    err: expect.stringMatching(/^flotilla: default\/shut has one batch, and will never be batch=9: /m),
  });
  const nobody = await flotilla(world.server.kubeconfig, 'why', 'shut', 'no-such-cluster');
  expect(nobody).toMatchObject({ code: 3, out: expect.stringContaining('there is no ManagedCluster no-such-cluster') });
  expect((await flotilla(world.server.kubeconfig, 'status', '-l', 'app=nothing')).err).toBe(
    'no ClusterGroupUpgrade in namespace default has the labels app=nothing\n',
  );
  const why = await flotilla(world.server.kubeconfig, 'why', 'shut', 'spoke-2', '-o', 'json');
  expect(WhyAnswer.parse(JSON.parse(why.out))).toMatchObject({
    cause: 'gate-window',
    isCertain: true,
    release: { byItself: true, at: '2099-01-01T00:00:00.000Z' },
  });
});

test('an upgrade that ends well: wait ends with 0, a line per change in a pipe, status says done', async ({ world }) => {
  await world.policies(['spoke-1', 'spoke-2', 'spoke-3'], { good: {} });
  await world.upgrade('good', ['spoke-1', 'spoke-2', 'spoke-3'], ['good'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  const wait = await flotilla(world.server.kubeconfig, 'wait', 'good', '--for', 'done', '--timeout', '2m');
  expect(wait).toMatchObject({ code: 0, err: '' });
  const lines = wait.out.trim().split('\n');
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.at(-1)).toMatch(/^default\/good stage=done .*done=3\/3 failed=0$/);
  const status = await flotilla(world.server.kubeconfig, 'status', '-A');
  expect(status.out).toMatch(/default\/good +done .*3\/3/);
});

test('an upgrade that ends without a cluster that could not be cached: all three end with 3 and name it', async ({ world }) => {
  await world.policies(['held', 'spoke-1'], { part: {} });
  world.spokes.setFaults('held', { failJob: true });
  const caching = { preCaching: true, preCachingConfigRef: { name: 'config' } };
  await world.upgrade('part', ['held', 'spoke-1'], ['part'], caching);
  const wait = await flotilla(world.server.kubeconfig, 'wait', 'part', '--timeout', '2m');
  expect(wait).toMatchObject({
    code: 3,
    err: expect.stringMatching(/will not be done any more: 1 of 2 clusters failed .*the first is held: /),
  });
  expect(wait.out).toMatch(/failed +1 +held /);
  const status = await flotilla(world.server.kubeconfig, 'status', 'part', '-o', 'json');
  expect(status.code).toBe(3);
  expect(StatusAnswer.parse(JSON.parse(status.out))).toMatchObject({ stage: 'partial', failures: [{ clusters: 1, example: 'held' }] });
  const why = await flotilla(world.server.kubeconfig, 'why', 'part');
  expect(why).toMatchObject({ code: 3, out: expect.stringMatching(/^the upgrade has ended: 1 of 2 clusters failed/m) });
});

test('what a wait says of the hub is so now, not from when it began', async ({ world }) => {
  await world.policies(['spoke-1'], { late: {} });
  await world.upgrade('late', ['spoke-1'], ['late'], {}, { 'flotilla.io/window-start': '2099-01-01T00:00:00Z' });
  await world.untilCondition('late', 'Progressing', /WaitingForWindow/);
  const lease = { metadata: { namespace: 'kube-public', name: 'flotilla-hub' } };
  const renewTime = () => `${new Date().toISOString().slice(0, -1)}000Z`;
  await world.client.create(Lease, { ...lease, spec: { holderIdentity: 'hub', leaseDurationSeconds: 3, renewTime: renewTime() } });
  const renewing = setInterval(() => {
    void world.client.patch(Lease, lease.metadata, { spec: { renewTime: renewTime() } }, { type: 'merge' }).catch(() => undefined);
  }, 200);
  const told = setTimeout(() => {
    void world.client
      .patch(ClusterGroupUpgrade, { namespace: 'default', name: 'late' }, { metadata: { labels: { told: 'yes' } } }, { type: 'merge' })
      .catch(() => undefined);
  }, 9_000);
  try {
    const wait = await flotilla(world.server.kubeconfig, 'wait', 'late', '--hub-namespace', 'kube-public', '--timeout', '12s');
    expect(wait.code).toBe(4);
    expect(wait.out).toContain('the window to open');
    expect(wait.out).not.toContain('a hub that decides');
  } finally {
    clearInterval(renewing);
    clearTimeout(told);
  }
});

test('a wait for a batch is over when that batch has begun, not when it may begin next', async ({ world }) => {
  const wait = () => flotilla(world.server.kubeconfig, 'wait', 'turns', '--for', 'batch=2', '--timeout', '0');
  await world.policies(['spoke-1', 'spoke-2'], { turns: {} });
  world.propagator.script('policies/turns', 'spoke-1', { never: true });
  await world.upgrade('turns', ['spoke-1', 'spoke-2'], ['turns'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('turns', 'spoke-1');
  await world.client.patch(
    ClusterGroupUpgrade,
    { namespace: 'default', name: 'turns' },
    { metadata: { annotations: { 'flotilla.io/paused': 'true' } } },
    { type: 'merge' },
  );
  world.propagator.script('policies/turns', 'spoke-1', { seconds: 0 });
  await eventually(async () => (await world.get('turns'))?.status?.status.currentBatch === 2, 'the second batch to be next', 60_000);
  expect((await wait()).code).toBe(4);
  await world.client.patch(
    ClusterGroupUpgrade,
    { namespace: 'default', name: 'turns' },
    { metadata: { annotations: { 'flotilla.io/paused': null } } },
    { type: 'merge' },
  );
  await world.untilInProgress('turns', 'spoke-2');
  expect((await wait()).code).toBe(0);
  await world.untilCompleted('turns');
});

test('a policy that does not come to comply is the cause of all behind it; wait ends with 3 once the upgrade has failed', async ({
  world,
}) => {
  await world.policies(['held', 'spoke-3'], { stuck: {} });
  world.propagator.script('policies/stuck', 'held', { never: true });
  await world.upgrade('stuck', ['held', 'spoke-3'], ['stuck'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('stuck', 'held');
  const why = await flotilla(world.server.kubeconfig, 'why', 'stuck', 'spoke-3', '-o', 'json');
  const answer = WhyAnswer.parse(JSON.parse(why.out));
  expect(answer).toMatchObject({ cause: 'policy', isCertain: true, notes: [] });
  expect(answer.chain.map(({ says }) => says).slice(0, 4)).toEqual([
    'spoke-3 waits for batch 2',
    'batch 1 waits for held (0 of 1 done)',
    'held is at policy stuck',
    'policy stuck is NonCompliant',
  ]);
  const all = await flotilla(world.server.kubeconfig, 'why', 'stuck');
  expect(all.out).toMatch(/batch 1 to end +1 +spoke-3/);
  expect(all.out).toMatch(/policy stuck to be compliant +1 +held/);
  await world.edit('stuck', { remediationStrategy: { timeout: 0 } });
  const wait = await flotilla(world.server.kubeconfig, 'wait', 'stuck', '--timeout', '1m');
  expect(wait.code).toBe(3);
  expect(wait.out).toMatch(/failed +1 +held +timed.*stuck/);
  const failed = await flotilla(world.server.kubeconfig, 'why', 'stuck', 'held');
  expect(failed).toMatchObject({ code: 3, out: expect.stringContaining('held timed out: policy stuck was NonCompliant') });
});
