import { ManualClock } from '@flotilla/pace/testing';
import { enabledCapabilities, type PayloadState } from '@flotilla/release';
import { ApiError, createLogger, RuntimeErrorCode, Semaphore } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SmallServer, servedKinds } from '../../testing/small-server.ts';
import { configMap, filesOf, imageOf, type TestRelease } from '../../testing/world-case.ts';
import { Kinds } from '../cluster/kinds.ts';
import { LiveObjects } from '../cluster/live-objects.ts';
import { Wakeups } from '../cluster/wakeups.ts';
import { readRelease } from '../payload/release.ts';
import { createClusterWriter } from './cluster-writer.ts';
import { Deletions } from './deletions.ts';
import { DriftTeller } from './drift-teller.ts';
import { PayloadWorker } from './worker.ts';

let server: SmallServer;
let clock: ManualClock;
let live: LiveObjects;
let worker: PayloadWorker;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  server = new SmallServer();
  clock = new ManualClock();
  stop = new AbortController();
  const { client } = server;
  const logger = createLogger({ name: 'test', level: 'silent' });
  const wakeups = new Wakeups(clock);
  const kinds = new Kinds(client, wakeups, clock);
  kinds.define('core', servedKinds);
  live = new LiveObjects(client, wakeups, { kinds, logger, clock });
  live.start(stop.signal);
  const budget = new Semaphore(1);
  const writer = createClusterWriter(client, budget);
  const drift = new DriftTeller({ clock, logger, tell: () => undefined });
  const tools = { client, live, writer, budget, deletions: new Deletions(client, { isObserving: false, logger }), drift };
  const context = () => ({});
  worker = new PayloadWorker({
    ...{ tools, wakeups, clock, logger, context },
    ...{ degradedBlocks: () => true, passEveryMs: 3_600_000, onReport: () => undefined },
  });
  live.onDrift = ({ key }) => void worker.mend(key);
  running = worker.run(stop.signal);
});

afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await Promise.all([running, live.stopped()]);
});

async function take(release: TestRelease, firstState: PayloadState): Promise<void> {
  const loaded = await readRelease(filesOf(release), {
    ...{ image: imageOf(release), profile: 'test', featureSet: '', gatesOf: () => undefined, verified: true, local: true },
  });
  const capabilities = enabledCapabilities({ baseline: undefined, featureGates: new Set() });
  worker.take({ generation: 1, release: loaded, force: false, overrides: [], capabilities, firstState });
  await clock.advance(100_000);
}

/** A ConfigMap in two files, and another one between them. */
const doubled: TestRelease = {
  version: '4.1.0',
  files: {
    '0000_10_one_00_map.json': [configMap('doubled', { from: 'the first' })],
    '0000_20_one_00_map.json': [configMap('between', {})],
    '0000_30_one_00_map.json': [configMap('doubled', { from: 'the last' })],
  },
};

test('an object of two files is done once for each of them', async () => {
  await take(doubled, 'Updating');
  expect(worker.report()).toMatchObject({ done: 4, total: 4, completed: true });
});

test('an object of two files that somebody deletes is as the file has it whose turn was last', async () => {
  server.refused.add('between');
  await take(doubled, 'Updating');
  expect(server.dataOf('doubled')).toEqual({ from: 'the first' });
  server.delete('doubled');
  await clock.advance(1_000);
  expect(server.dataOf('doubled')).toEqual({ from: 'the first' });

  server.refused.clear();
  await clock.advance(60_000);
  expect(server.dataOf('doubled')).toEqual({ from: 'the last' });
  server.delete('doubled');
  await clock.advance(1_000);
  expect(server.dataOf('doubled')).toEqual({ from: 'the last' });
});

test('a manifest with a mistyped delete annotation costs itself alone: what is being deleted can be asked', async () => {
  const mistyped = configMap('mistyped', {}, { annotations: { 'release.openshift.io/delete': 'false' } });
  await take(
    { version: '4.1.0', files: { '0000_10_one_00_map.json': [mistyped], '0000_10_two_00_map.json': [configMap('other', {})] } },
    'Updating',
  );
  expect(worker.report()?.failure?.message).toContain('invalid delete annotation');
  expect(server.dataOf('other')).toEqual({});
  expect(worker.pendingDeletions()).toEqual([]);
});

test('an object to delete is not gone because the server of its kind is away', async () => {
  Object.assign(server.client, {
    request: async (_method: string, path: string) => {
      if (path === '/apis') return { groups: [{ name: 'image.openshift.io', versions: [{ version: 'v1' }] }] };
      throw new ApiError(RuntimeErrorCode.unavailable, path, { status: 503, reason: 'ServiceUnavailable', serverMessage: 'away' });
    },
  });
  const metadata = { name: 'old', namespace: 'openshift', annotations: { 'release.openshift.io/delete': 'true' } };
  const stream = { apiVersion: 'image.openshift.io/v1', kind: 'ImageStream', metadata };
  await take({ version: '4.1.0', files: { '0000_10_one_00_stream.json': [stream] } }, 'Updating');
  expect(worker.report()?.completed).toBe(false);
  expect(worker.report()?.failure?.message).toContain('old');
});
