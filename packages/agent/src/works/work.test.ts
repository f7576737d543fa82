import { findCondition } from '@flotilla/api';
import { WORK_FINALIZER, WorkStatusBound } from '@flotilla/api/ocm';
import { ApiError, RuntimeErrorCode, ServerRefusal } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { configMap, Hub, kind } from '../../testing/work-hub.ts';
import { markKey } from './marks.ts';
import { DEFAULT_WORK_CADENCE } from './pass.ts';

type Json = Record<string, unknown>;

test('the finalizer is written before anything reaches the spoke', async () => {
  const hub = new Hub([configMap('one')]);
  hub.work = { ...hub.work, metadata: { ...hub.work.metadata, finalizers: ['other'] } };
  expect(await hub.pass()).toEqual({ finalizers: ['other', WORK_FINALIZER], hasWritten: false, requeueAfterMs: undefined });
  expect(hub.spoke.calls).toEqual([]);
  expect(await hub.pass()).toMatchObject({ hasWritten: true });
  expect([...hub.spoke.objects.keys()]).toEqual(['ConfigMap/ns/one']);
});

test('reads follow a change after 1, 2, 4 and 8 s, then every 10 s, and write nothing', async () => {
  const hub = new Hub([configMap('one')]);
  expect(await hub.run(60_000)).toEqual([0, 1000, 3000, 7000, 15_000, 25_000, 35_000, 45_000, 55_000]);
  expect(hub.count('apply')).toBe(1);
  expect((await hub.pass()).hasWritten).toBe(false);
});

const resourceIdentifier = { group: '', resource: 'configmaps', name: 'one', namespace: 'ns' };
const feedbackRules = [{ type: 'JSONPaths', jsonPaths: [{ name: 'a', path: '.data.b' }] }];
const watched = { manifestConfigs: [{ resourceIdentifier, feedbackRules, feedbackScrapeType: 'Watch' }] };

test('a watched work is read every 2 s where changes are not reported', async () => {
  const hub = new Hub([configMap('one')], watched);
  hub.cadence = { ...DEFAULT_WORK_CADENCE, watchedReadMs: 2000 };
  expect(await hub.run(10_000)).toEqual([0, 1000, 3000, 5000, 7000, 9000]);
});

test('where changes are reported, a changed value is read and written at once, and never without one', async () => {
  const hub = new Hub([configMap('one')], watched);
  await hub.run(60_000);
  expect(await hub.pass(true)).toMatchObject({ hasWritten: false });
  hub.spoke.objects.set('ConfigMap/ns/one', { ...hub.spoke.objects.get('ConfigMap/ns/one'), data: { b: 'new' } });
  expect(await hub.pass()).toMatchObject({ hasWritten: false });
  expect(await hub.pass(true)).toMatchObject({ hasWritten: true });
  expect(hub.manifest(0)?.statusFeedback?.values).toEqual([{ name: 'a', fieldValue: { type: 'String', string: 'new' } }]);
});

describe('where the first status may wait', () => {
  const start = async () => {
    const hub = new Hub([configMap('one')], watched);
    hub.cadence = { ...DEFAULT_WORK_CADENCE, firstReportMs: 2000 };
    hub.spoke.status = {};
    const first = await hub.pass();
    return { hub, first, touch: () => hub.spoke.change('ConfigMap/ns/one', { status: { active: 1 }, data: { b: 'new' } }) };
  };

  test("one write says applied, available and the first reading, as soon as the object's controller has looked at it", async () => {
    const { hub, first, touch } = await start();
    expect(first).toMatchObject({ hasWritten: false, requeueAfterMs: 250 });
    expect(hub.memory?.unreported).toBeDefined();
    touch();
    hub.nowMs += 250;
    expect(await hub.pass()).toMatchObject({ hasWritten: true });
    expect([hub.condition('Applied')?.status, hub.condition('Available')?.status, hub.writes, hub.count('apply')]).toEqual([
      'True',
      'True',
      1,
      1,
    ]);
    expect(hub.manifest(0)?.statusFeedback?.values).toEqual([{ name: 'a', fieldValue: { type: 'String', string: 'new' } }]);
  });

  test('a controller that is slow is waited for two seconds, and its reading follows', async () => {
    const { hub, touch } = await start();
    expect(await hub.run(1999)).toEqual([0, 250, 750, 1750]);
    expect(hub.writes).toBe(0);
    hub.nowMs += 250;
    await hub.pass();
    expect([hub.writes, hub.condition('Applied')?.status, hub.memory?.unreported]).toEqual([1, 'True', undefined]);
    touch();
    expect(await hub.pass(true)).toMatchObject({ hasWritten: true });
  });

  test('a failed manifest is told at once, and so is one of an object without a controller', async () => {
    const { hub } = await start();
    hub.spoke.refusal = 'denied';
    hub.edit({ workload: { manifests: [configMap('one', { a: '2' })] } });
    expect(await hub.pass()).toMatchObject({ hasWritten: true });
    expect(hub.condition('Applied')).toMatchObject({ status: 'False' });
    const other = new Hub([configMap('one')], watched);
    other.cadence = hub.cadence;
    expect(await other.pass()).toMatchObject({ hasWritten: true });
  });

  test.each<{ name: string; metadata?: Json }>([
    { name: 'an edit' },
    { name: 'an edit and a deletion', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
  ])('$name meanwhile leaves nothing of the version before', async ({ metadata = {} }) => {
    const hub = new Hub([configMap('one'), configMap('two')], watched);
    hub.cadence = { ...DEFAULT_WORK_CADENCE, firstReportMs: 2000 };
    hub.spoke.status = {};
    expect(await hub.pass()).toMatchObject({ hasWritten: false });
    hub.edit({ workload: { manifests: [configMap('one')] } }, metadata);
    await hub.pass();
    expect([...hub.spoke.objects.keys()]).toEqual('deletionTimestamp' in metadata ? [] : ['ConfigMap/ns/one']);
  });

  test('what is deleted meanwhile and is slow to go is waited for', async () => {
    const { hub } = await start();
    hub.spoke.keepsDeleted = true;
    hub.edit({ workload: { manifests: [] } }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    for (let n = 0; n < 2; n += 1) {
      const { requeueAfterMs = 0 } = await hub.pass();
      hub.nowMs += requeueAfterMs;
    }
    expect(hub.work.metadata.finalizers).toEqual([WORK_FINALIZER]);
    hub.spoke.objects.clear();
    await hub.pass();
    expect(hub.work.metadata.finalizers).toEqual([]);
  });

  test('an agent that starts again meanwhile applies again and tells it', async () => {
    const { hub, touch } = await start();
    hub.memory = undefined;
    touch();
    expect(await hub.pass()).toMatchObject({ hasWritten: true });
  });
});

describe('as the stock agent', () => {
  const stock = (spec = {}) =>
    Object.assign(new Hub([configMap('one')], spec), { cadence: { ...DEFAULT_WORK_CADENCE, feedback: 'immediate' } });

  test('applying is one write and reading another', async () => {
    const hub = stock(watched);
    expect(await hub.pass()).toMatchObject({ hasWritten: true, requeueAfterMs: 0 });
    expect([hub.condition('Applied')?.status, hub.condition('Available')]).toEqual(['True', undefined]);
    expect(await hub.pass()).toMatchObject({ hasWritten: true });
    expect(hub.condition('Available')).toMatchObject({ status: 'True', observedGeneration: 1 });
    await hub.run(60_000);
    expect(hub.writes).toBe(2);
  });

  test('feedback of the old version stays beside the new one until the next read', async () => {
    const hub = stock(watched);
    await hub.run(60_000);
    hub.spoke.objects.set('ConfigMap/ns/one', { ...hub.spoke.objects.get('ConfigMap/ns/one'), data: { b: 'old' } });
    await hub.pass(true);
    hub.edit({ workload: { manifests: [configMap('one', { b: 'new' })] } });
    await hub.pass();
    expect(hub.condition('Applied')).toMatchObject({ status: 'True', observedGeneration: 2 });
    expect(hub.condition('Available')).toMatchObject({ status: 'True', observedGeneration: 1 });
    expect(hub.manifest(0)?.statusFeedback?.values).toEqual([{ name: 'a', fieldValue: { type: 'String', string: 'old' } }]);
    await hub.pass();
    expect(hub.manifest(0)?.statusFeedback?.values).toEqual([{ name: 'a', fieldValue: { type: 'String', string: 'new' } }]);
  });

  test('a work that ends reports nothing', async () => {
    const hub = stock();
    await hub.run(60_000);
    const { writes } = hub;
    hub.spoke.keepsDeleted = true;
    hub.edit({}, { deletionTimestamp: '2026-01-01T00:02:00Z' });
    await hub.run(60_000);
    expect(hub.writes).toBe(writes);
  });
});

test('a value that changes makes the next reads quick again', async () => {
  const hub = new Hub([configMap('one')], { manifestConfigs: [{ resourceIdentifier, feedbackRules }] });
  await hub.run(60_000);
  hub.spoke.objects.set('ConfigMap/ns/one', { ...hub.spoke.objects.get('ConfigMap/ns/one'), data: { b: 'new' } });
  hub.nowMs += 10_000;
  expect(await hub.run(8000)).toEqual([0, 1000, 3000, 7000]);
  expect(hub.manifest(0)?.statusFeedback?.values).toEqual([{ name: 'a', fieldValue: { type: 'String', string: 'new' } }]);
});

test.each([
  { random: 0, minutes: 4 },
  { random: 0.999, minutes: 6 },
])('drift is repaired after $minutes minutes when the dice say $random', async ({ random, minutes }) => {
  const hub = new Hub([configMap('one')]);
  hub.random = random;
  const [first, second] = await applyMoments(hub, 10 * 60_000);
  expect(first).toBe(0);
  expect((second ?? 0) / 60).toBeCloseTo(minutes, 1);
  expect(hub.work.status?.conditions?.[0]?.lastTransitionTime).toBe('2026-01-01T00:00:00Z');
});

/** Times of the applies, in seconds from now. */
async function applyMoments(hub: Hub, ms: number): Promise<number[]> {
  const from = hub.nowMs;
  const moments: number[] = [];
  while (hub.nowMs < from + ms) {
    // somebody changes it all the time
    if (hub.spoke.objects.has('ConfigMap/ns/one')) hub.spoke.change('ConfigMap/ns/one', { data: { a: 'theirs' } });
    const writes = () => hub.count('apply') + hub.count('patch');
    const before = writes();
    const { requeueAfterMs = Number.POSITIVE_INFINITY } = await hub.pass();
    if (writes() > before) moments.push((hub.nowMs - from) / 1000);
    hub.nowMs += requeueAfterMs;
  }
  return moments;
}

test('a manifest that fails is tried again after 1, 2, 4 … 60 s, and the work says when it failed first', async () => {
  const hub = new Hub([configMap('one')]);
  hub.spoke.refusal = 'the server is full';
  expect(await applyMoments(hub, 250_000)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  expect(hub.condition('Applied')).toMatchObject({ status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' });
  expect(findCondition(hub.manifest(0)?.conditions, 'Applied')?.message).toBe('Failed to apply manifest: the server is full');
  hub.spoke.refusal = undefined;
  await hub.run(60_000);
  expect(hub.condition('Applied')?.status).toBe('True');
});

test('a change is applied at once, whatever was due when', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.run(100_000);
  hub.edit({ workload: { manifests: [configMap('one', { a: '2' })] } });
  await hub.pass();
  expect(hub.spoke.objects.get('ConfigMap/ns/one')).toMatchObject({ data: { a: '2' } });
  expect(hub.condition('Applied')).toMatchObject({ observedGeneration: 2 });
});

test('a field of the manifest has no other entries, whoever brought them, and what is elsewhere stays', async () => {
  const hub = new Hub([{ ...configMap('one'), metadata: { name: 'one', namespace: 'ns', labels: { mine: 'yes' } } }]);
  hub.spoke.objects.set('ConfigMap/ns/one', {
    ...configMap('one', { a: '0', theirs: '1' }),
    binaryData: { b: 'MQ==' },
    metadata: { ...configMap('one').metadata, labels: { theirs: 'yes' }, resourceVersion: '7' },
  });
  await hub.pass();
  expect(hub.spoke.objects.get('ConfigMap/ns/one')).toMatchObject({
    data: { a: '1' },
    binaryData: { b: 'MQ==' },
    metadata: { labels: { mine: 'yes', theirs: 'yes' }, resourceVersion: '7' },
  });
  expect(hub.spoke.objects.get('ConfigMap/ns/one')?.data).toEqual({ a: '1' });
});

test('labels and fields that the work has brought go with it, and no sooner', async () => {
  const brought = {
    manager: 'work-agent',
    operation: 'Apply',
    fieldsV1: { 'f:metadata': { 'f:labels': { 'f:old': {} } }, 'f:binaryData': {} },
  };
  const theirs = { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:old': {}, 'f:theirs': {} } } } };
  const hub = new Hub([configMap('one')]);
  hub.spoke.objects.set('ConfigMap/ns/one', {
    ...configMap('one'),
    binaryData: { b: 'MQ==' },
    metadata: { ...configMap('one').metadata, labels: { old: 'yes', theirs: 'yes' }, managedFields: [brought, theirs] },
  });
  await hub.pass();
  const { metadata, ...rest } = hub.spoke.objects.get('ConfigMap/ns/one') ?? {};
  expect([rest, Object(metadata).labels]).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } }, { theirs: 'yes' }]);
});

test('a work of the same name is another work', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.pass();
  hub.spoke.change('ConfigMap/ns/one', { data: { a: 'theirs' } });
  hub.work = { ...hub.work, metadata: { ...hub.work.metadata, uid: 'uid-2' } };
  await hub.pass();
  expect(hub.spoke.objects.get('ConfigMap/ns/one')).toMatchObject({ data: { a: '1' } });
});

test('an object stays when its kind is served late: the entry of before is the same object', async () => {
  const hub = new Hub([{ ...configMap('one'), apiVersion: 'late/v1', kind: 'Late' }]);
  await hub.pass();
  expect(hub.condition('Available')?.status).toBe('Unknown');
  hub.spoke.kinds.push(kind('Late', true, 'late'));
  await hub.run(5000);
  expect(hub.condition('Applied')?.status).toBe('True');
  expect(hub.spoke.objects.has('Late/ns/one')).toBe(true);
  expect(hub.count('delete')).toBe(0);
});

test('a manifest whose scope was wrong leaves nothing behind when it is mended', async () => {
  const wrong = { ...configMap('made'), metadata: { name: 'made' } };
  const hub = new Hub([wrong]);
  await hub.pass();
  expect(hub.condition('Applied')?.status).toBe('False');
  hub.edit({ workload: { manifests: [configMap('made')] } });
  await hub.pass();
  expect(hub.condition('Applied')?.status).toBe('True');
  expect(hub.work.status?.resourceStatus?.manifests).toHaveLength(1);
});

test('an object that cannot be removed stays in the status after the manifests until it is removed', async () => {
  const hub = new Hub([configMap('gone'), configMap('kept')]);
  await hub.pass();
  hub.edit({ workload: { manifests: [configMap('kept')] } });
  const remove = hub.spoke.deleteExactly.bind(hub.spoke);
  hub.spoke.deleteExactly = () => Promise.reject(new Error('deletion is forbidden'));
  await hub.pass();
  expect(hub.manifest(0)?.resourceMeta.name).toBe('kept');
  expect(hub.manifest(1)?.resourceMeta.name).toBe('gone');
  expect(findCondition(hub.manifest(1)?.conditions, 'Applied')?.message).toContain('could not be removed: deletion is forbidden');
  hub.spoke.deleteExactly = remove;
  await hub.run(10_000);
  expect(hub.work.status?.resourceStatus?.manifests).toHaveLength(1);
  expect(hub.spoke.objects.has('ConfigMap/ns/gone')).toBe(false);
});

test('a work that ends is released at once and waits for its objects with growing pauses', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.run(60_000);
  hub.spoke.keepsDeleted = true;
  hub.edit({}, { deletionTimestamp: '2026-01-01T00:02:00Z' });
  expect(await hub.run(40_000)).toEqual([0, 1000, 3000, 7000, 15_000, 25_000, 35_000]);
  expect(hub.condition('Deleting')).toMatchObject({
    status: 'True',
    message: 'Waiting for 1 resources: ConfigMap/ns/one is being deleted',
  });
  expect(hub.count('apply')).toBe(1);
  hub.spoke.keepsDeleted = false;
  hub.nowMs += 10_000;
  expect((await hub.pass()).finalizers).toEqual([]);
  expect(hub.spoke.objects.size).toBe(0);
  expect(await hub.pass()).toEqual({ finalizers: undefined, hasWritten: false, requeueAfterMs: undefined });
});

test('an object that goes within seconds is not reported, and one that cannot go is reported at once', async () => {
  const ending = async (hub: Hub) => {
    await hub.pass();
    hub.edit({}, { deletionTimestamp: '2026-01-01T00:02:00Z' });
    await hub.run(3000);
    return hub.condition('Deleting')?.message;
  };
  const slow = new Hub([configMap('one')]);
  slow.spoke.keepsDeleted = true;
  expect(await ending(slow)).toBeUndefined();
  const refusing = new Hub([configMap('one')]);
  refusing.spoke.deleteExactly = () => Promise.reject(new Error('deletion is forbidden'));
  expect(await ending(refusing)).toBe('Waiting for 1 resources: ConfigMap/ns/one: deletion is forbidden');
});

test('a work that ends does not wait for what was due, even when its generation stays', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.run(60_000);
  hub.edit({}, { deletionTimestamp: '2026-01-01T00:02:00Z', generation: 1 });
  expect((await hub.pass()).finalizers).toEqual([]);
});

test('a work that ends without ever having reported removes what its spec names', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.pass();
  hub.work = { ...hub.work, status: undefined };
  hub.memory = undefined;
  hub.edit({}, { deletionTimestamp: '2026-01-01T00:02:00Z' });
  expect((await hub.pass()).finalizers).toEqual([]);
  expect(hub.spoke.objects.size).toBe(0);
});

test('a spoke that refuses holds up the end of a work, but not of one whose objects stay', async () => {
  for (const [propagationPolicy, finalizers] of [
    ['Foreground', undefined],
    ['Orphan', []],
  ] as const) {
    const hub = new Hub([configMap('one')], { deleteOption: { propagationPolicy } });
    await hub.pass();
    hub.spoke.refusal = 'forbidden';
    hub.edit({}, { deletionTimestamp: '2026-01-01T00:02:00Z' });
    expect((await hub.pass()).finalizers).toEqual(finalizers);
  }
});

test('an empty work is refused, and says so of itself', async () => {
  const hub = new Hub([]);
  await hub.pass();
  expect(hub.condition('Applied')).toMatchObject({ status: 'False', message: expect.stringContaining('spec.workload.manifests is empty') });
});

test.each(['short', 'a'.repeat(58), 'a'.repeat(59), `${'a'.repeat(48)}.${'b'.repeat(200)}`])(
  'the mark of work %s is a valid name of an annotation',
  (name) => {
    const [prefix, rest = ''] = markKey(name).split('/');
    expect(prefix).toBe('flotilla.io');
    expect(rest.length).toBeLessThanOrEqual(63);
    expect(rest).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/);
  },
);

test('long names that begin alike have different marks', () =>
  expect(markKey(`${'a'.repeat(100)}-1`)).not.toBe(markKey(`${'a'.repeat(100)}-2`)));

test.each([
  { name: 'an unknown policy', deleteOption: { propagationPolicy: 'Keep' }, says: 'propagationPolicy "Keep" is unknown' },
  {
    name: '* in a rule of what stays',
    deleteOption: {
      propagationPolicy: 'SelectivelyOrphan',
      selectivelyOrphans: { orphaningRules: [{ resource: 'configmaps', name: '*', namespace: 'ns' }] },
    },
    says: 'orphaningRules[0] has "*"',
  },
])('$name refuses a work', async ({ deleteOption, says }) => {
  const hub = new Hub([configMap('one')]);
  await hub.pass();
  hub.edit({ deleteOption });
  await hub.pass();
  expect(findCondition(hub.manifest(0)?.conditions, 'Applied')?.message).toContain(says);
});

const away = () =>
  new ServerRefusal('connect ECONNREFUSED', {
    cause: new ApiError(RuntimeErrorCode.unreachable, 'GET /', { status: 0, reason: '', serverMessage: 'connect ECONNREFUSED' }),
  });

test.each([
  { name: 'while it applies', edit: true, types: ['Applied', 'Available'] },
  { name: 'while it reads', edit: false, types: ['Available'] },
])('a spoke that goes away $name leaves what it shows unknown, and the last values', async ({ edit, types }) => {
  const hub = new Hub([configMap('one', { a: '1', b: 'told' })], { manifestConfigs: [{ resourceIdentifier, feedbackRules }] });
  await hub.run(60_000);
  const find = hub.spoke.find.bind(hub.spoke);
  hub.spoke.find = () => Promise.reject(away());
  if (edit) hub.edit({ workload: { manifests: [configMap('one', { a: '2', b: 'later' })] } });
  hub.nowMs += 10_000;
  await hub.pass();
  for (const type of types)
    expect(hub.condition(type)).toMatchObject({
      status: 'Unknown',
      reason: 'SpokeAPIServerAway',
      message: expect.stringContaining('connect ECONNREFUSED'),
    });
  if (!edit) expect(hub.condition('Applied')?.status).toBe('True');
  expect(hub.manifest(0)?.statusFeedback?.values).toEqual([{ name: 'a', fieldValue: { type: 'String', string: 'told' } }]);
  expect(findCondition(hub.manifest(0)?.conditions, 'StatusFeedbackSynced')?.status).toBe('Unknown');
  hub.spoke.find = find;
  await hub.run(60_000);
  expect([hub.condition('Applied')?.status, hub.condition('Available')?.status]).toEqual(['True', 'True']);
});

test('many long refusals are cut until the hub takes them', async () => {
  const hub = new Hub(Array.from({ length: 150 }, (_, n) => configMap(`cm-${n}`)));
  hub.spoke.refusal = 'é'.repeat(4000);
  await hub.pass();
  const messages =
    hub.work.status?.resourceStatus?.manifests?.flatMap(({ conditions }) => (conditions ?? []).map(({ message }) => message)) ?? [];
  expect(messages.join('').length).toBeLessThanOrEqual(WorkStatusBound.allMessages);
  const { writes } = hub;
  await hub.run(10_000);
  expect(hub.writes).toBe(writes);
});

test.each([
  { name: 'a kind of 70 characters', manifest: { ...configMap('x'), kind: 'K'.repeat(70) }, says: 'its kind has 70 characters' },
  { name: 'a name of 300 characters', manifest: configMap('x'.repeat(300)), says: 'its name has 300 characters' },
])('$name is refused, and the status says so without it', async ({ manifest, says }) => {
  const hub = new Hub([manifest]);
  await hub.pass();
  expect(hub.manifest(0)?.resourceMeta.name).toBe('');
  expect(findCondition(hub.manifest(0)?.conditions, 'Applied')?.message).toContain(says);
});
