import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterVersion } from '@flotilla/api/config';
import { eventually } from '@flotilla/pace/testing';
import { type StepName, stepConditions, upgraders } from '@flotilla/upgrade';
import { expect, test } from 'vitest';
import { KilledCluster, TARGET, type Write } from './killed-cluster.ts';

/** How it is seen from outside that the operator is in a step, or did what that is for. */
interface Trace {
  readonly isSeen: (cluster: KilledCluster) => Promise<boolean> | boolean;
  /** Before the operator that comes to this step is started. */
  readonly before?: (cluster: KilledCluster) => Promise<void> | void;
  /** Once the operator is dead. */
  readonly after?: (cluster: KilledCluster) => Promise<void> | void;
}

const written = (value: string) => (cluster: KilledCluster) => cluster.manager.written.includes(`p: ${value}`);
const logged = (words: string) => (cluster: KilledCluster) =>
  cluster.manager.serviceLogs.some(({ summary }) => String(summary).includes(words));
const wrote =
  (verb: string, resource: string, count = 1) =>
  async (cluster: KilledCluster) =>
    (await cluster.writes()).filter((write) => write.verb === verb && write.resource === resource).length >= count;
const silenced = (plane: string, isOpen: boolean) => async (cluster: KilledCluster) => {
  const own = (await cluster.silences()).filter(({ comment }) => comment.includes(plane));
  return own.length > 0 && own.some(({ status }) => status.state !== 'expired') === isOpen;
};
const setUpgradeable = (status: 'True' | 'False') => (cluster: KilledCluster) =>
  cluster.client
    .patch(
      ClusterVersion,
      { name: 'version' },
      [
        {
          op: 'add',
          path: '/status/conditions',
          value: [{ type: 'Upgradeable', status, reason: 'Held', message: 'by the test', lastTransitionTime: '2026-01-01T00:00:00Z' }],
        },
      ],
      { type: 'json', subresource: 'status' },
    )
    .then(() => undefined);
const isFailing = (step: StepName) => async (cluster: KilledCluster) =>
  (await cluster.entry())?.conditions?.some(({ type, status }) => type === stepConditions[step] && status === 'False') === true;
const askedWhileHeld = (service: 'prometheus' | 'dependency'): Trace => {
  let before = 0;
  return {
    before(cluster) {
      before = cluster[service].asked;
      cluster[service].isHeld = true;
    },
    isSeen: (cluster) => cluster[service].asked > before,
    after(cluster) {
      cluster[service].isHeld = false;
    },
  };
};

/** In the order of the steps. */
const TRACES: Readonly<Record<StepName, Trace>> = {
  // No operator gets beyond its step by being killed late. Half an hour goes by before anybody goes on.
  'send-started-notification': { before: setUpgradeable('False'), isSeen: written('started'), after: (cluster) => cluster.ageUpgrade(31) },
  'report-delay': { isSeen: written('delayed') },
  'check-upgradable': { isSeen: isFailing('check-upgradable'), after: setUpgradeable('True') },
  'check-health-before': askedWhileHeld('prometheus'),
  'check-dependencies': askedWhileHeld('dependency'),
  // This upgrade does not ask for it.
  'check-cache': { isSeen: isFailing('check-cache') },
  'reserve-capacity': { isSeen: wrote('create', 'machinesets') },
  'open-control-plane-window': { isSeen: silenced('control plane', true) },
  commence: {
    before: (cluster) => cluster.actors.setFaults({ controlPlaneHeld: true }),
    // The channel comes first.
    isSeen: wrote('patch', 'clusterversions', 2),
    after: (cluster) => cluster.actors.setFaults({ nodesHeld: true }),
  },
  'await-control-plane': { isSeen: logged('control plane finished') },
  'close-control-plane-window': { isSeen: silenced('control plane', false) },
  'open-workers-window': { isSeen: silenced('worker node', true), after: (cluster) => cluster.actors.setFaults({}) },
  'await-workers': { isSeen: logged('workers finished') },
  'remove-capacity': { isSeen: wrote('delete', 'machinesets') },
  'close-workers-window': { isSeen: silenced('worker node', false) },
  'check-health-after': askedWhileHeld('prometheus'),
  'post-upgrade-tasks': { isSeen: wrote('patch', 'fileintegrities') },
  'send-completed-notification': { isSeen: written('completed') },
};

/** Asks every 5 ms: what is waited for is the moment of a death. */
const untilSeen = (isSeen: () => Promise<boolean> | boolean, what: string) => eventually(isSeen, `a trace of ${what}`, 60_000, 5);

const countOf = (writes: readonly Write[], verb: string, resource: string) =>
  writes.filter((write) => write.verb === verb && write.resource === resource).length;

test('one upgrade, killed in each of its steps: the next one goes on, and no effect is repeated', { timeout: 600_000 }, async ({
  onTestFailed,
}) => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-killed-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const cluster = stack.use(await KilledCluster.start(dir));
  let output = '';
  onTestFailed(() => void process.stderr.write(output.slice(-4_000)));
  cluster.manager.setPolicies([
    {
      id: 'p',
      version: TARGET.version,
      next_run: `${new Date(Date.now() - 1_000).toISOString().slice(0, 19)}Z`,
      capacity_reservation: true,
    },
  ]);

  const unsaid: StepName[] = [];
  for (const step of upgraders.OSD.steps) {
    const { before, isSeen, after } = TRACES[step];
    await before?.(cluster);
    // Once as it is after a crash that nobody tidies up: the lease has to run out.
    const operator = await cluster.startOperator({ inherits: step === 'await-control-plane' });
    try {
      await untilSeen(() => isSeen(cluster), step);
    } finally {
      output = await operator.output();
      await operator.stop({ signal: 'SIGKILL' });
    }
    const isSaid = (await cluster.entry())?.conditions?.some(({ type, status }) => type === stepConditions[step] && status === 'True');
    if (!isSaid) unsaid.push(step);
    await after?.(cluster);
  }
  const last = await cluster.startOperator({ inherits: false });
  await untilSeen(async () => (await cluster.entry())?.phase === 'Upgraded', 'the end');
  try {
    const untold = async () =>
      (await cluster.entry())?.notifications?.flatMap(({ state, time, message }) => (time === undefined ? [`${state}: ${message}`] : []));
    await expect.poll(untold, { timeout: 60_000 }).toEqual([]);
  } finally {
    output = await last.output();
    await last.stop();
  }

  // These died in the middle of their step for certain, most of the others between what they did and the word of it in the status.
  const held: StepName[] = ['check-upgradable', 'check-health-before', 'check-dependencies', 'check-health-after'];
  expect(unsaid).toEqual(expect.arrayContaining(held));
  expect((await cluster.entry())?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
  const writes = await cluster.writes();
  expect(countOf(writes, 'create', 'machinesets')).toBe(1);
  expect(countOf(writes, 'delete', 'machinesets')).toBe(1);
  expect(countOf(writes, 'patch', 'clusterversions')).toBe(2);
  // Asked for again by one that could not know; the server stored it once.
  const integrity = writes.filter(({ resource }) => resource === 'fileintegrities');
  expect(new Set(integrity.map(({ resourceVersion }) => resourceVersion)).size).toBe(1);
  const kinds = new Set(writes.map(({ verb, resource }) => `${verb} ${resource}`));
  // OCM, told of the end, has it removed: at its next word, which may come before the last operator ends.
  kinds.delete('delete upgradeconfigs');
  expect([...kinds].toSorted()).toEqual([
    'create machinesets',
    'create upgradeconfigs',
    'delete machinesets',
    'patch clusterversions',
    'patch fileintegrities',
    'patch upgradeconfigs/status',
  ]);
  expect(cluster.manager.written).toEqual(['p: started', 'p: delayed', 'p: completed']);
  const summaries = cluster.manager.serviceLogs.map(({ summary }) => summary);
  expect(summaries).toEqual([...new Set(summaries)]);
  const comments = (await cluster.silences()).map(({ comment }) => comment);
  expect(comments.toSorted()).toEqual([...new Set(comments)].toSorted());
  expect((await cluster.silences()).filter(({ status }) => status.state !== 'expired')).toEqual([]);
});
