import { findCondition } from '@flotilla/api';
import { describe, expect, test } from 'vitest';
import { configMap, Hub, kind } from '../../testing/work-hub.ts';
import { markKey } from './marks.ts';
import type { WorkRecords } from './records.ts';

type Json = Record<string, unknown>;

const namesOf = (objects: number) => Array.from({ length: objects }, (_, n) => `cm-${n}`);
const DELETED = { deletionTimestamp: '2026-01-01T01:00:00Z' };
const foreign = configMap('foreign', { theirs: 'yes' });

/** An agent that dies at its n-th write to spoke or hub: before the write takes effect, or right after. */
class Mortal {
  readonly hub: Hub;
  readonly diesAt: number;
  readonly isAfter: boolean;
  #writes = 0;
  #isDead = false;

  constructor(objects: readonly string[], diesAt: number, isAfter: boolean) {
    this.diesAt = diesAt;
    this.isAfter = isAfter;
    this.hub = new Hub([...objects, 'found'].map((name) => configMap(name)));
    const { spoke } = this.hub;
    for (const verb of ['create', 'apply', 'mergePatch', 'deleteExactly'] as const) {
      const send = spoke[verb].bind(spoke) as (...args: unknown[]) => Promise<unknown>;
      Object.assign(spoke, { [verb]: (...args: unknown[]) => this.#write(() => send(...args)) });
    }
    const find = spoke.find.bind(spoke);
    spoke.find = (...where) => (this.#isDead ? Promise.reject(new Error('dead')) : find(...where));
    const { records } = this.hub;
    this.hub.records = {
      ...records,
      write: (...what: Parameters<WorkRecords['write']>) => this.#write(() => records.write(...what)),
      remove: (work: string) => this.#write(() => records.remove(work)),
    };
    for (const object of [foreign, configMap('found', { theirs: 'yes' })]) this.#put(object);
  }

  get hasDied(): boolean {
    return this.#writes >= this.diesAt;
  }

  /** Passes until nothing is due soon, or the agent dies; a new one begins without memory. */
  async live(): Promise<void> {
    for (let passes = 0; passes < 20; passes += 1) {
      const { work } = this.hub;
      const { requeueAfterMs = Number.POSITIVE_INFINITY, finalizers, hasWritten } = await this.hub.pass();
      if (this.#isDead) {
        // Nothing of a dead agent reached the hub.
        this.hub.work = work;
        this.hub.memory = undefined;
        this.#isDead = false;
        return;
      }
      if (finalizers || hasWritten) {
        await this.#write(async () => undefined).catch(() => undefined);
        if (this.#isDead) {
          if (!this.isAfter) this.hub.work = work;
          this.hub.memory = undefined;
          this.#isDead = false;
          return;
        }
      }
      if (this.hub.work.metadata.finalizers?.length === 0 || requeueAfterMs > 60_000) return;
      this.hub.nowMs += requeueAfterMs;
    }
  }

  async #write<T>(send: () => Promise<T>): Promise<T> {
    if (this.#isDead) throw new Error('dead');
    this.#writes += 1;
    if (this.#writes !== this.diesAt) return send();
    this.#isDead = true;
    if (this.isAfter) await send();
    throw new Error('dead');
  }

  #put(object: ReturnType<typeof configMap>): void {
    const { name } = object.metadata;
    this.hub.spoke.objects.set(`ConfigMap/ns/${name}`, { ...object, metadata: { ...object.metadata, uid: `uid of ${name}` } });
  }
}

/** Plays a work that is made, edited and deleted; the edit and the deletion come right after the agent's death. */
async function play(objects: number, diesAt: number, isAfter: boolean): Promise<{ left: string[]; records: string[]; hasDied: boolean }> {
  const names = namesOf(objects);
  const agent = new Mortal(names, diesAt, isAfter);
  const { hub } = agent;
  await agent.live();
  hub.edit({ workload: { manifests: [...names.filter((_, n) => n % 2 === 0), 'found'].map((name) => configMap(name)) } });
  await agent.live();
  hub.edit({}, DELETED);
  await agent.live();
  await agent.live();
  const left = [...hub.spoke.objects].map(([key, { metadata }]) => `${key} ${JSON.stringify(Object(metadata).annotations ?? {})}`);
  return { left: left.sort(), records: await hub.records.works(), hasDied: agent.hasDied };
}

const ONLY_THEIRS = { left: ['ConfigMap/ns/foreign {}', 'ConfigMap/ns/found {}'], records: [] };

describe.each([{ isAfter: false }, { isAfter: true }])('killed at a write, after it took effect: $isAfter', ({ isAfter }) => {
  test('a work that is edited, then deleted, leaves nothing of its own and takes nothing of others', async () => {
    const objects = 16;
    let kills = 0;
    for (let diesAt = 1; ; diesAt += 1) {
      const { hasDied, ...world } = await play(objects, diesAt, isAfter);
      expect({ diesAt, ...world }).toEqual({ diesAt, ...ONLY_THEIRS });
      if (!hasDied) break;
      kills += 1;
    }
    // Each object is made once and, at the latest with the work, removed once.
    expect(kills).toBeGreaterThan(2 * objects);
  });

  test.each([1, 2, 77, 152, 153, 154, 230, 310, 385])('so does one of 150 objects, at write %i', async (diesAt) => {
    const { hasDied, ...world } = await play(150, diesAt, isAfter);
    expect({ hasDied, ...world }).toEqual({ hasDied: true, ...ONLY_THEIRS });
  });
});

const removeMark = (hub: Hub, name: string) =>
  hub.spoke.change(`ConfigMap/ns/${name}`, { metadata: { ...metaOf(hub, name), annotations: {} } });
const metaOf = (hub: Hub, name: string): Json => Object(hub.spoke.objects.get(`ConfigMap/ns/${name}`)?.metadata);
const isThere = (hub: Hub, name: string) => hub.spoke.objects.has(`ConfigMap/ns/${name}`);

test.each([
  { name: 'whose mark was taken off', change: removeMark, isApplied: false },
  {
    name: 'that somebody replaced, and that was applied again since',
    change: (hub: Hub, name: string) =>
      hub.spoke.objects.set(`ConfigMap/ns/${name}`, { metadata: { name, namespace: 'ns', uid: 'another' } }),
    isApplied: true,
  },
])('an object $name goes with its work, and with an edit', async ({ change, isApplied }) => {
  const hub = new Hub([configMap('one'), configMap('two')]);
  await hub.run(60_000);
  for (const name of ['one', 'two']) change(hub, name);
  if (isApplied) await hub.run(600_000);
  hub.edit({ workload: { manifests: [configMap('two')] } });
  await hub.pass();
  expect([isThere(hub, 'one'), isThere(hub, 'two')]).toEqual([false, true]);
  hub.edit({}, DELETED);
  await hub.pass();
  expect(isThere(hub, 'two')).toBe(false);
});

test('an object that was replaced goes with its work after one apply, also where its mark was taken off then', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.run(60_000);
  hub.spoke.objects.set('ConfigMap/ns/one', { metadata: { name: 'one', namespace: 'ns', uid: 'another' } });
  hub.edit({ workload: { manifests: [configMap('one', { a: '2' })] } });
  await hub.pass();
  removeMark(hub, 'one');
  hub.edit({}, DELETED);
  await hub.pass();
  expect(isThere(hub, 'one')).toBe(false);
});

test('works of the version before, without a record, are adopted: theirs goes, what they found stays', async () => {
  const hub = new Hub([configMap('made'), configMap('found')]);
  hub.spoke.objects.set('ConfigMap/ns/found', { metadata: { name: 'found', namespace: 'ns', uid: 'theirs' } });
  await hub.run(60_000);
  await hub.records.remove('work');
  hub.memory = undefined;
  await hub.run(60_000);
  expect((await hub.records.read('work'))?.resources.map(({ name, uid }) => [name, uid !== undefined])).toEqual([
    ['made', true],
    ['found', false],
  ]);
  hub.edit({}, DELETED);
  await hub.pass();
  expect([isThere(hub, 'made'), isThere(hub, 'found')]).toEqual([false, true]);
});

test('an object whose version is served no more is removed under the one that is', async () => {
  const hub = new Hub([{ ...configMap('one'), apiVersion: 'example.com/v1', kind: 'Widget' }, configMap('two')]);
  const widget = kind('Widget', true, 'example.com');
  hub.spoke.kinds.push(widget);
  await hub.run(60_000);
  hub.spoke.kinds = hub.spoke.kinds.map((served) => (served === widget ? { ...widget, version: 'v2' } : served));
  hub.edit({ workload: { manifests: [configMap('two')] } });
  await hub.pass();
  expect(hub.spoke.objects.has('Widget/ns/one')).toBe(false);
});

test('an object whose version is served no more stays as long as the work names it', async () => {
  const hub = new Hub([{ ...configMap('one'), apiVersion: 'example.com/v1', kind: 'Widget' }]);
  const widget = kind('Widget', true, 'example.com');
  hub.spoke.kinds.push(widget);
  await hub.run(60_000);
  hub.spoke.kinds = hub.spoke.kinds.map((served) => (served === widget ? { ...widget, version: 'v2' } : served));
  await hub.run(600_000);
  expect(hub.spoke.objects.has('Widget/ns/one')).toBe(true);
  hub.edit({}, DELETED);
  await hub.pass();
  expect(hub.spoke.objects.has('Widget/ns/one')).toBe(false);
});

test('a removed object that hangs on its finalizers is waited for, and said after a while', async () => {
  const hub = new Hub([configMap('one'), configMap('two')]);
  await hub.run(60_000);
  hub.spoke.keepsDeleted = true;
  hub.edit({ workload: { manifests: [configMap('two')] } });
  await hub.pass();
  expect(hub.condition('Applied')?.status).toBe('True');
  await hub.run(60_000);
  expect(hub.condition('Applied')?.status).toBe('False');
  expect(findCondition(hub.manifest(1)?.conditions, 'Applied')?.message).toContain('is being deleted, and waits for its finalizers');
  hub.spoke.objects.delete('ConfigMap/ns/one');
  await hub.run(120_000);
  expect(hub.condition('Applied')?.status).toBe('True');
  expect((await hub.records.read('work'))?.resources.map(({ name }) => name)).toEqual(['two']);
});

test.each([
  { name: 'the last one leaves it', options: ['Foreground', 'Orphan'], want: true },
  { name: 'the last one removes it', options: ['Orphan', 'Foreground'], want: false },
])('of two works with different delete options $name', async ({ options, want }) => {
  const [first, second] = options.map((propagationPolicy) => new Hub([configMap('one')], { deleteOption: { propagationPolicy } })) as [
    Hub,
    Hub,
  ];
  Object.assign(second, { spoke: first.spoke, records: first.records });
  second.work = { ...second.work, metadata: { ...second.work.metadata, name: 'second', uid: 'uid-2' } };
  for (const hub of [first, second]) await hub.run(60_000);
  for (const hub of [first, second]) {
    hub.edit({}, DELETED);
    expect((await hub.pass()).finalizers).toEqual([]);
  }
  expect(isThere(first, 'one')).toBe(want);
  if (want) expect(metaOf(first, 'one').annotations).toEqual({});
});

test('a work that comes back within its grace gets a whole one when it goes again', async () => {
  const hub = new Hub([configMap('one')]);
  await hub.pass();
  const record = await hub.records.read('work');
  await hub.records.write('work', { resources: record?.resources ?? [], evictionStartTime: '2026-01-01T00:00:00Z' }, false);
  hub.memory = undefined;
  await hub.pass();
  expect(await hub.records.read('work')).toEqual(record);
});

test('a spoke that refuses the record gets no object, and the work says what is missing', async () => {
  const hub = new Hub([configMap('one')]);
  hub.records = { ...hub.records, write: () => Promise.reject(new Error('appliedmanifestworks is forbidden')) };
  await hub.pass();
  expect(isThere(hub, 'one')).toBe(false);
  expect(findCondition(hub.manifest(0)?.conditions, 'Applied')?.message).toContain('forbidden: give the agent get, list, create, patch');
});

test('a spoke without the definition of records is served as before, by marks', async () => {
  const hub = new Hub([configMap('one'), configMap('two')]);
  hub.records = { ...hub.records, write: async () => false };
  await hub.run(60_000);
  expect(Object(metaOf(hub, 'one').annotations)[markKey('work')]).toBe('created');
  hub.edit({ workload: { manifests: [configMap('two')] } });
  await hub.pass();
  hub.edit({}, DELETED);
  expect((await hub.pass()).finalizers).toEqual([]);
  expect(hub.spoke.objects.size).toBe(0);
});
