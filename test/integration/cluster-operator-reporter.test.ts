import { ClusterOperator, configCrds } from '@flotilla/api/config';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createLogger } from '@flotilla/runtime';
import { type ClusterOperatorReporter, type OperatorReport, startClusterOperatorReporter } from '@flotilla/runtime/cluster-operator';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

const good = (status: 'True' | 'False') => ({ status, reason: 'AsExpected', message: 'All is well' });
const report = (version: string, running: readonly string[], conditions: Partial<OperatorReport['conditions']> = {}): OperatorReport => ({
  version,
  conditions: { Available: good('True'), Progressing: good('False'), Degraded: good('False'), ...conditions },
  operands: [{ name: 'worker', wanted: version, running }],
  relatedObjects: [
    { group: '', resource: 'namespaces', name: 'boats' },
    { group: 'apps', resource: 'deployments', namespace: 'boats', name: '' },
  ],
});

let server: ApiServer;
let client: Client;
let stop: AbortController;
let reporter: ClusterOperatorReporter;
let name = '';
let worlds = 0;

beforeAll(async () => {
  server = await startApiServer({ crds: configCrds() });
  client = await server.client();
});
afterAll(() => server?.stop());
beforeEach(() => {
  name = `boats-${++worlds}`;
  start();
});
afterEach(end);

function start(): void {
  stop = new AbortController();
  const logger = createLogger({ name: 'test', level: 'error' });
  reporter = startClusterOperatorReporter({ client, name, logger, signal: stop.signal, inertia: { Degraded: 1_500 } });
}
async function end(): Promise<void> {
  stop.abort();
  await reporter.stopped;
}
const stored = () => client.get(ClusterOperator, { name });
const versions = async () => Object.fromEntries((await stored())?.status?.versions?.map((one) => [one.name, one.version]) ?? []);
const condition = async (type: string) => (await stored())?.status?.conditions?.find((one) => one.type === type);

/** What a watch tells of the ClusterOperator from now on. */
async function watched<T>(tell: (object: ClusterOperator) => T) {
  const told: T[] = [];
  const watching = new AbortController();
  const { resourceVersion } = await client.list(ClusterOperator);
  const ended = (async () => {
    for await (const event of client.watch(ClusterOperator, { resourceVersion, signal: watching.signal }))
      if (event.type !== 'BOOKMARK' && event.object.metadata.name === name) told.push(tell(event.object));
  })();
  return {
    told,
    async [Symbol.asyncDispose]() {
      watching.abort();
      await ended;
    },
  };
}

test('a report makes the ClusterOperator, and the same report writes nothing', async () => {
  expect(await stored()).toBeUndefined();
  reporter.report(report('1', ['1']));
  await eventually(async () => (await versions()).operator === '1');
  expect((await stored())?.status?.relatedObjects).toHaveLength(2);
  await using events = await watched(({ metadata }) => metadata.annotations?.mark ?? 'none');
  for (const mark of ['a', 'b', 'c']) {
    reporter.report(report('1', ['1']));
    // has it looked at again, too
    await client.patch(ClusterOperator, { name }, { metadata: { annotations: { mark } } }, { type: 'merge' });
    await eventually(() => events.told.includes(mark));
  }
  expect(events.told).toEqual(['a', 'b', 'c']);
});

test('the version is held back while operands are mixed, and all that changes is one write', async () => {
  reporter.report(report('1', ['1']));
  await eventually(async () => (await versions()).operator === '1');
  await using events = await watched(({ status }) => `${status?.versions?.[0]?.version} ${status?.conditions?.[1]?.status}`);
  reporter.report(report('2', ['1', '2'], { Progressing: { status: 'True', reason: 'Updating', message: 'Moving to 2' } }));
  await eventually(async () => (await condition('Progressing'))?.status === 'True');
  expect(await versions()).toEqual({ operator: '1', worker: '1' });
  reporter.report(report('2', ['2']));
  await eventually(async () => (await versions()).operator === '2');
  await eventually(() => events.told.length >= 2);
  expect(events.told).toEqual(['1 True', '2 False']);
});

test('it is made again when it is deleted, whole', async () => {
  reporter.report(report('1', ['1']));
  await eventually(async () => (await versions()).operator === '1');
  const before = (await stored())?.metadata.uid;
  await client.delete(ClusterOperator, { name });
  await eventually(async () => (await versions()).operator === '1' && (await stored())?.metadata.uid !== before);
  expect((await stored())?.status?.conditions).toHaveLength(3);
});

test('what others change is set right, what others add stays', async () => {
  reporter.report(report('1', ['1']));
  await eventually(async () => (await versions()).operator === '1');
  const added = { type: 'RecentBackup', status: 'True', reason: 'A', message: 'B', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const conditions = [...((await stored())?.status?.conditions ?? []), added];
  await client.patch(ClusterOperator, { name }, { status: { conditions, versions: [] } }, { type: 'merge', subresource: 'status' });
  await eventually(async () => (await versions()).operator === '1');
  expect(await condition('RecentBackup')).toMatchObject({ status: 'True' });
});

test('a short trouble is not told, a lasting one is', async () => {
  const degraded = { Degraded: { status: 'True', reason: 'PodsFail', message: 'Pods fail' } } as const;
  reporter.report(report('1', ['1']));
  await eventually(async () => (await condition('Degraded'))?.status === 'False');
  const { lastTransitionTime: before } = (await condition('Degraded')) ?? {};
  await using events = await watched(({ status }) => status?.conditions?.find(({ type }) => type === 'Degraded')?.status);
  reporter.report(report('1', ['1'], degraded));
  reporter.report(report('1', ['1']));
  reporter.report(report('1', ['1'], degraded));
  await eventually(async () => (await condition('Degraded'))?.status === 'True');
  expect((await condition('Degraded'))?.lastTransitionTime).not.toBe(before);
  reporter.report(report('1', ['1']));
  await eventually(() => events.told.at(-1) === 'False');
  expect(events.told).toEqual(['True', 'False']);
});

test('a reporter that was away says what is true now', async () => {
  reporter.report(report('1', ['1']));
  await eventually(async () => (await versions()).operator === '1');
  await end();
  await client.delete(ClusterOperator, { name });
  start();
  reporter.report(report('2', ['2']));
  await eventually(async () => (await versions()).operator === '2');
});
