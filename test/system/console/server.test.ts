/** The console's server on a real API server: whom it lets in, what it sends, what it says of missing rights. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotation } from '@flotilla/api';
import { ChangeAnswer, type StreamMessage, WhyAnswer } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, onTestFinished } from 'vitest';
import { packConsolePage } from '../../../tools/src/console-page/build.ts';
import { bundleApp } from '../../../tools/src/images/app-bundle.ts';
import { flotilla } from '../../integration/cli/flotilla.ts';
import { RolloutWorld } from '../../integration/rollout/world.ts';
import { testIn, upgradeRef } from '../../integration/world.ts';
import { type AskOptions, startConsole } from './console.ts';

const ROOT = join(import.meta.dirname, '../../..');
const spokes = ['first-1', 'first-2', 'again-1', 'asked-1'];
const users = [{ name: 'viewer' }, { name: 'nobody' }];
const test = testIn(() => RolloutWorld.start({ spokes, apiServer: { users } }));

/** Sees upgrades of one namespace and nothing else. */
async function letView(world: RolloutWorld): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
  const rules = [{ apiGroups: ['ran.openshift.io'], resources: ['clustergroupupgrades'], verbs: ['get', 'list', 'watch'] }];
  await world.client.request('POST', `${rbac}/roles`, { body: { metadata: { name: 'view' }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'view' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }];
  await world.client.request('POST', `${rbac}/rolebindings`, { body: { metadata: { name: 'view' }, roleRef, subjects } });
}

const upgradeOf = (message: StreamMessage, key: string) => message.upgrades?.rows.find((row) => row.key === key);

test('who lacks the token, or comes from another page, gets nothing but the reason', async ({ world }) => {
  await using running = await startConsole(world.server.kubeconfig);
  const { ask, base, known } = running;
  const host = base.replace('http://', '');
  const refused: (AskOptions & { path: string; status: number })[] = [
    { path: '/api/why', headers: {}, status: 401 },
    { path: '/%61pi/why?upgrade=default/x', headers: {}, status: 401 },
    { path: '/api/stream', headers: { authorization: 'Bearer x' }, status: 401 },
    { path: '/api/stream', headers: { ...known, host: `evil.test:${host.split(':')[1]}` }, status: 421 },
    { path: '/', headers: { host: 'evil.test' }, status: 421 },
    { path: '/api/actions', method: 'POST', headers: { ...known, origin: 'http://127.0.0.1:1' }, status: 403 },
    { path: '/api/actions', method: 'POST', headers: { ...known, 'sec-fetch-site': 'same-site' }, status: 403 },
    { path: '/api/actions', method: 'POST', headers: { ...known, 'content-type': 'text/plain' }, body: '{}', status: 415 },
    {
      path: '/api/actions',
      method: 'POST',
      headers: { ...known, 'content-type': 'application/json' },
      body: '{"action":"delete"}',
      status: 400,
    },
    { path: '/../package.json', headers: {}, status: 404 },
    { path: '/..%2f..%2fpackage.json', headers: {}, status: 404 },
    { path: '/assets/..%2f..%2f..%2fpackage.json', headers: {}, status: 404 },
    { path: '//api/why', headers: {}, status: 404 },
  ];
  for (const { path, status, ...options } of refused) {
    const answered = await ask(path, options);
    expect({ path, status: answered.status }).toEqual({ path, status });
    expect(JSON.parse(answered.body)).toEqual({ error: expect.stringMatching(/./) });
    expect(answered.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(answered.headers['access-control-allow-origin']).toBeUndefined();
  }
  const page = await ask('/upgrades/default/any?q=x');
  expect(page).toMatchObject({ status: 200, body: expect.stringContaining('<title>Flotilla</title>') });
  expect(await ask(`/upgrades/${'n'.repeat(63)}/${'u'.repeat(253)}`)).toMatchObject({ status: 200, body: page.body });
  expect(page.headers['content-security-policy']).toMatch(
    /^default-src 'none'; .*frame-ancestors 'none'.*require-trusted-types-for 'script'$/,
  );
  expect(page.headers).toMatchObject({ 'cross-origin-opener-policy': 'same-origin', 'cross-origin-resource-policy': 'same-origin' });
  expect(page.headers['set-cookie']).toBeUndefined();
  // The command prints a code, which was exchanged and is worth nothing by now.
  expect(running.said()).not.toContain(running.token);
  expect(await running.end()).toBe(0);
});

test('the stream begins with everything, goes on with cells, and gives who comes back what was missed', async ({ world }) => {
  await world.policies(['first-1', 'first-2'], { 'first-p': {} });
  await world.upgrade('first', ['first-1', 'first-2'], ['first-p'], { enable: false });
  await world.untilCondition('first', 'Progressing', /NotEnabled/);
  await using running = await startConsole(world.server.kubeconfig);
  const [first, whole] = await running.read('?fresh=default/first', (message) => upgradeOf(message, 'default/first') !== undefined);
  expect(whole?.message).toMatchObject({
    rights: { upgrades: null, spokes: null },
    upgrades: { isWhole: true },
    spokes: { isWhole: true },
  });
  expect(whole?.message.spokes?.rows.map(({ key }) => key).toSorted()).toEqual(spokes.toSorted());
  // Without an id: whoever is cut off here asks for it again.
  expect(first?.id).toBeUndefined();
  expect(first?.message.members?.changes.rows).toEqual([
    expect.objectContaining({ key: 'first-1', state: 'waiting', cause: 'gate-enable' }),
    expect.objectContaining({ key: 'first-2', state: 'waiting', cause: 'gate-enable' }),
  ]);

  await world.client.patch(
    ManagedCluster,
    { name: 'first-1' },
    { metadata: { labels: { openshiftVersion: '4.18.9' } } },
    { type: 'merge' },
  );
  const isVersion = ({ spokes: changes }: StreamMessage) => changes?.cells.some(({ version }) => version === '4.18.9') === true;
  const missed = await running.read('?upgrade=default/first', isVersion, whole?.id);
  expect(missed.filter(({ message }) => message.spokes?.isWhole || message.upgrades?.isWhole)).toEqual([]);
  expect(missed.find(({ message }) => isVersion(message))?.message.spokes).toEqual({
    isWhole: false,
    rows: [],
    cells: [{ key: 'first-1', version: '4.18.9' }],
    gone: [],
  });
  const [anew] = await running.read('', ({ spokes: changes }) => changes?.isWhole === true, 'ffffffff-1');
  expect(anew?.message.spokes?.rows.find(({ key }) => key === 'first-1')?.version).toBe('4.18.9');
});

test('questions and changes are answered as the commands answer them', async ({ world }) => {
  await world.policies(['again-1'], { 'again-p': {} });
  await world.upgrade('again', ['again-1'], ['again-p'], { enable: false });
  await world.untilCondition('again', 'Progressing', /NotEnabled/);
  await using running = await startConsole(world.server.kubeconfig);
  const asked = await running.ask('/api/why?upgrade=default/again&cluster=again-1', { headers: running.known });
  const told = await flotilla(world.server.kubeconfig, 'why', 'again', 'again-1', '-o', 'json');
  const chain = (text: string) => WhyAnswer.parse(JSON.parse(text)).chain.map(({ says, object, field }) => ({ says, object, field }));
  expect(chain(asked.body)).toEqual(chain(told.out));

  const act = async (change: object) => {
    const headers = { ...running.known, 'content-type': 'application/json' };
    const answered = await running.ask('/api/actions', { method: 'POST', headers, body: JSON.stringify(change) });
    return answered.status === 200 ? ChangeAnswer.parse(JSON.parse(answered.body)) : answered;
  };
  const annotations = async () => (await world.get('again'))?.metadata.annotations ?? {};
  expect(await act({ action: 'pause', of: 'default/again', dryRun: true })).toMatchObject({ outcome: 'dry-run', clusters: 1 });
  expect(await annotations()).toEqual({});
  expect(await act({ action: 'pause', of: 'default/again', reason: 'ticket', dryRun: false })).toMatchObject({ outcome: 'changed' });
  expect(await annotations()).toEqual({ [Annotation.paused]: 'drain', [Annotation.pausedReason]: 'ticket' });
  expect(await act({ action: 'resume', of: 'default/again', dryRun: false })).toMatchObject({ outcome: 'changed' });
  const looked = await act({ action: 'pause', of: 'default/again', dryRun: true });
  const fire = { [Annotation.paused]: 'stop', [Annotation.pausedReason]: 'fire' };
  await world.client.patch(ClusterGroupUpgrade, upgradeRef('again'), { metadata: { annotations: fire } }, { type: 'merge' });
  const confirmed = { action: 'pause', of: 'default/again', dryRun: false };
  const outdated = await act({ ...confirmed, seen: 'seen' in looked ? looked.seen : undefined });
  expect(outdated).toMatchObject({ outcome: 'outdated', annotations: [{ key: Annotation.paused, before: 'stop', after: 'drain' }] });
  expect(await annotations()).toEqual(fire);
  expect(await act({ ...confirmed, seen: 'seen' in outdated ? outdated.seen : undefined })).toMatchObject({ outcome: 'changed' });
  expect(await annotations()).toEqual({ ...fire, [Annotation.paused]: 'drain' });
  expect(await act({ action: 'hold', of: 'nowhere', dryRun: true })).toMatchObject({
    status: 404,
    body: expect.stringContaining('no ManagedCluster nowhere'),
  });
});

test('the program of one file serves the page that is in it, and leaves none of it behind', async ({ world }) => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-console-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { constants, packageFolders } = await packConsolePage();
  expect(packageFolders).toContain('node_modules/preact');
  const { files } = await bundleApp(ROOT, { entry: 'apps/cli/src/main.ts', isOneFile: true, constants });
  const [main] = files;
  if (files.length !== 1 || typeof main?.content !== 'object' || !('bytes' in main.content)) throw new TypeError('not one file');
  const program = join(folder, 'flotilla.cjs');
  await writeFile(program, main.content.bytes);
  const running = await startConsole(world.server.kubeconfig, { program, env: { TMPDIR: folder } });
  const page = await running.ask('/');
  const [, script = ''] = /src="([^"]+)"/.exec(page.body) ?? [];
  expect(await running.ask(script)).toMatchObject({ status: 200, headers: { 'content-type': expect.stringMatching(/javascript/) } });
  expect(await running.end()).toBe(0);
  expect(await readdir(folder)).toEqual(['flotilla.cjs']);
});

describe('with fewer rights', () => {
  test('what the asker may not see or do is a sentence with the role to ask for', async ({ world }) => {
    await world.policies(['asked-1'], { 'asked-p': {} });
    await world.upgrade('asked', ['asked-1'], ['asked-p'], { enable: false });
    await letView(world);
    await using running = await startConsole(await world.server.kubeconfigFor('viewer'), { args: ['-n', 'default'] });
    const received = await running.read('', (message) => upgradeOf(message, 'default/asked') !== undefined);
    expect(received[0]?.message.rights).toEqual({
      upgrades: null,
      spokes: expect.stringContaining(
        'you may not list managedclusters.cluster.open-cluster-management.io in all namespaces: ask for ClusterRole flotilla-inspect',
      ),
      lease: expect.stringContaining('flotilla-inspect'),
      steerUpgrades: expect.stringContaining('you may not patch clustergroupupgrades.ran.openshift.io in namespace default'),
      steerSpokes: expect.stringContaining('flotilla-steer'),
    });
    const headers = { ...running.known, 'content-type': 'application/json' };
    const body = JSON.stringify({ action: 'pause', of: 'default/asked', dryRun: false });
    expect(await running.ask('/api/actions', { method: 'POST', headers, body })).toMatchObject({
      status: 403,
      body: expect.stringContaining('flotilla-steer'),
    });
    expect((await world.get('asked'))?.metadata.annotations ?? {}).toEqual({});

    await using blind = await startConsole(await world.server.kubeconfigFor('nobody'));
    const [nothing] = await blind.read('', ({ rights }) => rights !== undefined);
    expect(nothing?.message).toMatchObject({ rights: { upgrades: expect.stringContaining('flotilla-view') }, upgrades: { rows: [] } });
  });
});
