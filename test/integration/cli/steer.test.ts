/** `flotilla pause`, `resume`, `window`, `hold` and `unhold` beside a real hub, on a real API server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Annotation } from '@flotilla/api';
import { ChangeAnswer, WindowAnswer } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { programFile } from '../../support/program-files.ts';
import { RolloutWorld } from '../rollout/world.ts';
import { testIn, upgradeRef } from '../world.ts';
import { flotilla } from './flotilla.ts';

const spokes = ['paused-1', 'paused-2', 'window-1', 'held-1', 'held-2', 'asked-1', 'strict-1'];
const test = testIn(() => RolloutWorld.start({ spokes }));
const MAIN = programFile('apps/cli/src/main.ts');

const annotationsOf = async (world: RolloutWorld, name: string) => (await world.get(name))?.metadata.annotations ?? {};

/** Versions of everything that the commands may write. */
async function versions(world: RolloutWorld): Promise<Record<string, string | undefined>> {
  const items = [...(await world.client.list(ClusterGroupUpgrade)).items, ...(await world.client.list(ManagedCluster)).items];
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, JSON.stringify(metadata.annotations)]));
}

test('pause and resume say what they touch, change nothing without consent, and the hub has taken them up when they end', async ({
  world,
}) => {
  const run = (...args: string[]) => flotilla(world.server.kubeconfig, ...args);
  await world.policies(['paused-1', 'paused-2'], { 'paused-p': {} });
  world.propagator.script('policies/paused-p', 'paused-1', { never: true });
  await world.upgrade('paused', ['paused-1', 'paused-2'], ['paused-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('paused', 'paused-1');

  const before = await versions(world);
  expect(await run('pause', 'paused')).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--yes is missing') });
  const dry = await run('pause', 'paused', '--dry-run');
  expect(dry).toMatchObject({ code: 0, err: '' });
  expect(dry.out).toContain('would be changed, touching 2 clusters');
  expect(dry.out).toContain('1 cluster in batch 1 go on to their end');
  expect(await versions(world)).toEqual(before);

  const paused = await run('pause', 'paused', '--yes', '--reason', 'ticket 4711', '-o', 'json');
  expect(paused).toMatchObject({ code: 0, err: '' });
  expect(ChangeAnswer.parse(JSON.parse(paused.out))).toMatchObject({
    object: 'ClusterGroupUpgrade default/paused',
    outcome: 'changed',
    clusters: 2,
    undo: 'flotilla resume paused -n default',
    annotations: [
      { key: Annotation.paused, after: 'drain' },
      { key: Annotation.pausedReason, after: 'ticket 4711' },
    ],
  });
  expect(await world.condition('paused', 'Paused')).toBe('True Paused: Paused: ticket 4711');
  expect(await run('pause', 'paused', '--yes', '--reason', 'ticket 4711')).toMatchObject({
    code: 0,
    out: expect.stringContaining('nothing was changed'),
  });
  // The reason stays, and a name may be written as tables print it.
  expect(await run('pause', 'default/paused', '--yes')).toMatchObject({ code: 0, out: expect.stringContaining('nothing was changed') });
  expect(await run('pause', 'default/paused', '-n', 'other', '--yes')).toMatchObject({
    code: 2,
    err: expect.stringContaining('default/paused is in namespace default, and --namespace is other'),
  });

  world.propagator.script('policies/paused-p', 'paused-1', { seconds: 0 });
  await eventually(async () => (await world.recorded('paused')).includes('paused-1: complete'), 'the first batch to end', 60_000);
  expect(await run('resume', 'paused', '-y')).toMatchObject({ code: 0, err: '' });
  await world.untilCompleted('paused');
  expect(await run('pause', 'paused', '-y')).toMatchObject({ code: 3, err: expect.stringContaining('has ended (done)') });
});

test('a window is set by the rule that the hub goes by, shown, and taken away', async ({ world }) => {
  const run = (...args: string[]) => flotilla(world.server.kubeconfig, 'window', ...args);
  await world.policies(['window-1'], { 'window-p': {} });
  await world.upgrade('windowed', ['window-1'], ['window-p'], { enable: false });
  await world.untilCondition('windowed', 'Progressing', /NotEnabled/);

  const wrong = await run('set', 'windowed', '-y', '--schedule', '0 25 * * *', '--duration', '4h');
  expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/--schedule is "0 25 \* \* \*".*hour/) });
  expect(await run('set', 'windowed', '-y')).toMatchObject({ code: 2, err: expect.stringContaining('--schedule with --duration') });
  expect(await annotationsOf(world, 'windowed')).toEqual({});

  const set = await run('set', 'windowed', '-y', '--start', '2099-01-01T00:00:00Z', '-o', 'json');
  expect(ChangeAnswer.parse(JSON.parse(set.out))).toMatchObject({
    outcome: 'changed',
    clusters: 1,
    undo: 'flotilla window clear windowed -n default',
  });
  const shown = await run('show', 'windowed', '-o', 'json');
  expect(WindowAnswer.parse(JSON.parse(shown.out))).toMatchObject({
    window: { state: 'closed', opensAt: '2099-01-01T00:00:00.000Z' },
    annotations: { [Annotation.windowStart]: '2099-01-01T00:00:00Z' },
  });

  // Another window takes the place of the first one, and says how to get that back.
  const replaced = await run('set', 'windowed', '-y', '--schedule', '0 22 * * 6', '--duration', '4h', '--timezone', 'Europe/Berlin');
  expect(replaced.out).toContain("undo: flotilla window set windowed -n default --start '2099-01-01T00:00:00Z'");
  expect(Object.keys(await annotationsOf(world, 'windowed')).toSorted()).toEqual(
    [Annotation.windowDuration, Annotation.windowSchedule, Annotation.windowTimezone].toSorted(),
  );
  expect(await run('clear', 'windowed', '-y')).toMatchObject({ code: 0, err: '' });
  expect(await annotationsOf(world, 'windowed')).toEqual({});
  await world.edit('windowed', { enable: true });
  await world.untilCompleted('windowed');
});

test('a held cluster is not begun until unhold; one that is not there is named with the next step', async ({ world }) => {
  const run = (...args: string[]) => flotilla(world.server.kubeconfig, ...args);
  await world.policies(['held-1', 'held-2'], { 'held-p': {} });
  expect(await run('hold', 'held-2', '-y', '--reason', 'disk is being replaced')).toMatchObject({ code: 0, err: '' });
  await world.upgrade('held', ['held-1', 'held-2'], ['held-p']);
  await eventually(async () => (await world.recorded('held')).includes('held-1: complete'), 'the other to be complete', 60_000);
  await eventually(async () => (await world.get('held'))?.status?.messages?.['held-2']?.includes(': held: disk'), 'the hold to be told');
  expect(await run('hold', 'held-3', '-y')).toMatchObject({ code: 1, err: expect.stringContaining('kubectl get managedclusters') });
  expect(await run('unhold', 'held-2', '-y')).toMatchObject({ code: 0, err: '' });
  await world.untilCompleted('held');
});

test('on a terminal it asks, and anything but yes changes nothing', async ({ world }) => {
  await world.policies(['asked-1'], { 'asked-p': {} });
  await world.upgrade('asked', ['asked-1'], ['asked-p'], { enable: false });
  await world.untilCondition('asked', 'Progressing', /NotEnabled/);
  const no = await onTerminal(world, 'n\n', 'pause', 'asked');
  expect(no).toMatchObject({ code: 3, out: expect.stringContaining('was not changed') });
  expect(await annotationsOf(world, 'asked')).toEqual({});
  const yes = await onTerminal(world, 'y\n', 'pause', 'asked');
  expect(yes).toMatchObject({ code: 0, out: expect.stringContaining('touching 1 cluster\r\n') });
  expect(await annotationsOf(world, 'asked')).toEqual({ [Annotation.paused]: 'drain' });
});

test('a hub that takes no pause up is not believed to have', async ({ world }) => {
  await world.policies(['strict-1'], { 'strict-p': {} });
  await world.upgrade('strict', ['strict-1'], ['strict-p'], { enable: false });
  await world.untilCondition('strict', 'Progressing', /NotEnabled/);
  await world.hub?.stop();
  const paused = await flotilla(world.server.kubeconfig, 'pause', 'strict', '-y', '-o', 'json');
  expect(paused.code).toBe(4);
  expect(ChangeAnswer.parse(JSON.parse(paused.out)).outcome).toBe('unanswered');
  expect((await world.client.get(ClusterGroupUpgrade, upgradeRef('strict')))?.metadata.annotations).toEqual({
    [Annotation.paused]: 'drain',
  });
});

/** Types into the command on a pseudo-terminal, as soon as it asks. */
async function onTerminal(world: RolloutWorld, typed: string, ...args: string[]): Promise<{ code: number | null; out: string }> {
  const env = childEnvironment({ KUBECONFIG: world.server.kubeconfig });
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const wasAsked = out.includes('[y/N]');
    out += text;
    if (!wasAsked && out.includes('[y/N]')) child.stdin.write(typed);
  });
  const [code] = await once(child, 'close');
  return { code: typeof code === 'number' ? code : null, out };
}
