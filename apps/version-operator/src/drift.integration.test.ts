import { isJsonObject, isSameJson, KubeObject, type Resource, untyped } from '@flotilla/api';
import { REFERENCE_OPERATOR } from '@flotilla/api/config';
import { Job } from '@flotilla/api/core';
import { startApiServer } from '@flotilla/control-plane/servers';
import { startFakeOperators } from '@flotilla/control-plane/simulators';
import { WatchCache } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DRIFT_NAMESPACE, type DriftCase, driftCases } from '../testing/drift-cases.ts';
import { imageOf, kinds, type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;

const OPERATOR = 'drift-clusteroperator';
const quota = untyped('v1', 'ResourceQuota', 'resourcequotas');
const quotaRef = { namespace: DRIFT_NAMESPACE, name: 'taken-over' };
const quotaOf = (hard: Json, labels: Json = {}) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { ...quotaRef, labels },
  spec: { hard },
});
const releaseOf = (version: string, taken: Json): TestRelease => ({
  version,
  files: {
    ...Object.fromEntries(driftCases.map(({ object }, index) => [`0000_${10 + index}_drift_00_${object.metadata.name}.json`, [object]])),
    '0000_60_drift_00_quota.json': [taken],
  },
});
const release = releaseOf('4.1.0', quotaOf({ pods: '10' }, { old: 'yes' }));
const second = releaseOf('4.1.1', quotaOf({ configmaps: '1' }));
const THEIRS = { metadata: { labels: { theirs: 'yes' } } };

let world: World;
let operator: RunningOperator;

beforeAll(async () => {
  world = await World.start(await startApiServer());
  world.plays(
    await startFakeOperators({
      client: world.client,
      releases: [{ version: '4.1.0', operators: { [OPERATOR]: { versions: [{ name: 'operator', version: '4.1.0' }], deployments: [] } } }],
    }),
  );
  playJobs();
  await leaveQuota();
  operator = world.run(release, [second]);
  await world.completed(release);
});
afterAll(async () => {
  await operator?.stop();
  await world?.[Symbol.asyncDispose]();
});

/** Leaves an object there as the reference operator wrote it for an older release, and as somebody else added to it. */
async function leaveQuota(): Promise<void> {
  await world.created(kinds.namespace, { metadata: { name: DRIFT_NAMESPACE } });
  const object = KubeObject.parse(quotaOf({ pods: '5', services: '2' }, { older: 'yes' }));
  await world.client.create(quota, object, { fieldManager: REFERENCE_OPERATOR });
  await world.client.patch(quota, quotaRef, { spec: { hard: { secrets: '3' } } }, { type: 'merge' });
}

/** Has every Job succeed. */
function playJobs(): void {
  const ending = new AbortController();
  const jobs = new WatchCache(world.client, Job);
  jobs.subscribe(({ type, object: { metadata, status } }) => {
    if (type === 'deleted' || (isJsonObject(status) && status.succeeded)) return;
    const time = metadata.creationTimestamp;
    const condition = (name: string) => ({ type: name, status: 'True', reason: 'CompletionsReached', lastTransitionTime: time });
    const conditions = ['SuccessCriteriaMet', 'Complete'].map(condition);
    const patch = { status: { succeeded: 1, startTime: time, completionTime: time, conditions } };
    world.client.patch(Job, metadata, patch, { type: 'merge', subresource: 'status' }).catch(() => undefined);
  });
  jobs.start(ending.signal);
  world.plays({
    async stop() {
      ending.abort();
      await jobs.stopped();
    },
  });
}

const kindOf = ({ object, plural }: DriftCase): Resource =>
  untyped(String(object.apiVersion), String(object.kind), plural, object.metadata.namespace !== undefined);
const get = async (one: DriftCase): Promise<KubeObject> => {
  const found = await world.client.get<KubeObject>({ ...kindOf(one), schema: KubeObject }, one.object.metadata);
  if (!found) throw new Error(`${one.object.metadata.name} is not there`);
  return found;
};
/** All of an object that is not the server's own or its status. */
function content(object: KubeObject): Json {
  const { metadata, status: _status, ...rest } = object;
  const { labels, ownerReferences } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => !key.startsWith('deprecated.daemonset.'));
  return { labels, annotations: Object.fromEntries(annotations), ownerReferences, ...rest };
}
const merged = (one: Json, patch: Json): Json => ({
  ...one,
  ...Object.fromEntries(
    Object.entries(patch).map(([key, value]) => [key, isJsonObject(value) ? merged(isJsonObject(one[key]) ? one[key] : {}, value) : value]),
  ),
});
const untilSame = (one: DriftCase, want: Json) =>
  world
    .until(async () => isSameJson(content(await get(one)), want), 20_000)
    .catch(async () => expect(content(await get(one))).toEqual(want));

const named = driftCases.map((one) => ({ name: `${String(one.object.kind)} ${one.object.metadata.name}`, one }));

describe('what somebody else changes', () => {
  test.each(named)('of $name is put right, and what they add stays', async ({ one }) => {
    const before = await get(one);
    const changed = await world.client.patch(kindOf(one), one.object.metadata, merged(THEIRS, one.drift), { type: 'merge' });
    const { labels, ...rest } = content(before);
    expect(isSameJson(content(KubeObject.parse(changed)), content(before))).toBe(false);
    await untilSame(one, merged({ ...rest, labels: { ...(isJsonObject(labels) && labels), theirs: 'yes' } }, one.stays ?? {}));
  });
});

describe('what somebody else deletes', () => {
  test.each(named.filter(({ one }) => !one.isLasting))('is made again: $name', async ({ one }) => {
    // it may have gone with its definition, and be on its way
    const before = await world.until(() => get(one));
    await world.client.delete(kindOf(one), one.object.metadata);
    await world.until(async () => (await get(one)).metadata.uid !== before.metadata.uid);
    const { ownerReferences } = (await get(one)).metadata;
    expect(ownerReferences).toEqual(before.metadata.ownerReferences);
  });
});

describe('what a release no longer has of an object', () => {
  const hard = async () => (await world.client.get(quota, quotaRef))?.spec;
  const labels = async () => (await world.client.get(quota, quotaRef))?.metadata.labels;

  test('goes, whoever had put it there', async () => {
    expect(await hard()).toEqual({ hard: { pods: '10' } });
    expect(await labels()).toEqual({ old: 'yes' });
  });

  test('goes with an update', async () => {
    await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
    await world.completed(second);
    expect(await hard()).toEqual({ hard: { configmaps: '1' } });
    expect(await labels()).toBeUndefined();
  });
});

test('and all of it is as it should be in the end', async () => {
  await world.until(async () => (await world.condition('Progressing')) === 'False : Cluster version is 4.1.1', 60_000);
  expect(await world.condition('Failing')).toBe('False : ');
});
