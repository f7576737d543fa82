import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { RolloutWorld, spokeNames } from '../../integration/rollout/world.ts';
import { testIn } from '../../integration/world.ts';

const CLUSTERS = spokeNames(3, 'wide');

const test = testIn(() => RolloutWorld.start({ spokes: CLUSTERS, job: { seconds: 0.5 } }));

/** The columns Cached, Batch, Failed and Eta of the upgrade, as kubectl cuts them by their headers. */
async function columns(world: RolloutWorld): Promise<string[]> {
  const tools = await ensureTools(['kubectl']);
  const args = ['--kubeconfig', world.server.kubeconfig, 'get', 'cgu', 'wide', '-o', 'wide'];
  const [header = '', row = ''] = (await runCommand(tools.path('kubectl'), args)).split('\n');
  const starts = ['CACHED', 'BATCH', 'FAILED', 'ETA'].map((name) => header.lastIndexOf(name));
  expect(starts.every((start) => start > 0)).toBe(true);
  return starts.map((start, at) => row.slice(start, starts[at + 1]).trim());
}

const untilColumns = async (world: RolloutWorld, want: readonly string[]): Promise<void> => {
  let last: string[] = [];
  const ask = async () => {
    last = await columns(world);
    return last.slice(0, want.length).join() === want.join();
  };
  await eventually(ask, () => `columns ${want.join()}, not ${last.join()}`, 60_000);
};

test('kubectl get cgu -o wide shows what is cached, the batch, who failed and when it ends', async ({ world }) => {
  await world.policies(CLUSTERS, { 'wide-p': {} });
  world.propagator.script('policies/wide-p', 'wide-2', { never: true });
  world.spokes.setFaults('wide-3', { jobsHeld: true });
  await world.upgrade('wide', CLUSTERS, ['wide-p'], {
    enable: false,
    preCaching: true,
    preCachingConfigRef: { name: 'config' },
    remediationStrategy: { maxConcurrency: 1, timeout: 240 },
  });
  await untilColumns(world, ['2/3', '0/3', '0', '']);
  world.spokes.setFaults('wide-3', {});
  await untilColumns(world, ['3/3', '0/3', '0', '']);

  await world.edit('wide', { enable: true });
  await world.untilInProgress('wide', 'wide-2');
  await untilColumns(world, ['3/3', '2/3', '0']);
  const { summary, status } = (await world.get('wide'))?.status ?? {};
  const took = Date.parse(status?.currentBatchStartedAt ?? '') - Date.parse(status?.startedAt ?? '');
  expect(Date.parse(summary?.eta ?? '')).toBe(Date.parse(status?.currentBatchStartedAt ?? '') + 2 * took);
  expect((await columns(world))[3]).toBe(summary?.eta);

  await world.detach('wide-2');
  await world.untilEnded('wide');
  await untilColumns(world, ['3/3', '3/3', '1', '']);
});
