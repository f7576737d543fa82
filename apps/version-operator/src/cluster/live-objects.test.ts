import { type KubeObject, type Resource, resource } from '@flotilla/api';
import { Deployment } from '@flotilla/api/core';
import { settled } from '@flotilla/pace/testing';
import type { Manifest } from '@flotilla/release';
import { ApiError, type Client, createLogger, RuntimeErrorCode, systemClock, type WatchEvent } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Wanted } from '../payload/wanted.ts';
import { Kinds } from './kinds.ts';
import { LiveObject } from './live-object.ts';
import { LiveObjects } from './live-objects.ts';
import { Wakeups } from './wakeups.ts';

const KIND = resource(Deployment.apiVersion, Deployment.kind, Deployment.plural, true, LiveObject);
const KIND_KEY = 'apps/v1/Deployment';

/** A server of which only watches are heard, when the test says so. */
class ToldServer {
  readonly #heard = new Map<string, (event: WatchEvent<LiveObject> | ApiError) => void>();
  readonly client: Client;
  /** Kinds whose objects were asked for. */
  readonly listed: string[] = [];
  /** Objects of a kind that are listed, or what a list of it fails with; default none. */
  readonly items = new Map<string, readonly KubeObject[] | Error>();
  /** Version as of which is listed. */
  version = '1';

  constructor() {
    const list = async ({ kind }: Resource<LiveObject>) => {
      this.listed.push(kind);
      const items = this.items.get(kind) ?? [];
      if (items instanceof Error) throw items;
      return { items, resourceVersion: this.version };
    };
    const watch = (kind: Resource<LiveObject>, { signal }: { signal: AbortSignal }) => this.#watch(kind.kind, signal);
    const request = async () => ({ groups: [] });
    this.client = { list, watch, request } as unknown as Client;
  }

  async tell(kind: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): Promise<void> {
    while (!this.#heard.has(kind)) await turn();
    this.#heard.get(kind)?.({ type, object });
    await turn();
  }

  /** Ends the watch of a kind, because the server has forgotten what came since. */
  async expire(kind: string): Promise<void> {
    while (!this.#heard.has(kind)) await turn();
    this.#heard.get(kind)?.(new ApiError(RuntimeErrorCode.expired, 'watch', { status: 410, reason: 'Expired', serverMessage: 'too old' }));
  }

  async *#watch(kind: string, signal: AbortSignal): AsyncGenerator<WatchEvent<LiveObject>> {
    for (;;) {
      const next = Promise.withResolvers<WatchEvent<LiveObject> | ApiError | undefined>();
      this.#heard.set(kind, next.resolve);
      signal.addEventListener('abort', () => next.resolve(undefined), { once: true });
      const event = await next.promise;
      this.#heard.delete(kind);
      if (!event) return;
      if (event instanceof ApiError) throw event;
      yield event;
    }
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

let server: ToldServer;
let live: LiveObjects;
let wanted: Wanted;
let stop: AbortController;

beforeEach(async () => {
  stop = new AbortController();
  server = new ToldServer();
  const logger = createLogger({ name: 'test', level: 'silent' });
  const wakeups = new Wakeups(systemClock);
  const kinds = new Kinds(server.client, wakeups, systemClock);
  kinds.define('workloads', new Map([[KIND_KEY, KIND]]));
  live = new LiveObjects(server.client, wakeups, { kinds, logger, clock: systemClock });
  wanted = new Wanted(manifest);
  live.start(stop.signal);
  await live.track({ wanted: [wanted], context: {} });
});

afterEach(async () => {
  stop.abort();
  await live.stopped();
});

const object = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } },
};
const manifest: Manifest = {
  ...{ group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'shop', name: 'web' },
  ...{ file: 'release-manifests/0000_50_web_01.json', line: 1, raw: JSON.stringify(object), object, annotations: {} },
};

const BOATS = resource('test.flotilla.io/v1', 'Boat', 'boats', true, LiveObject);
const boatObject = { apiVersion: 'test.flotilla.io/v1', kind: 'Boat', metadata: { name: 'b', namespace: 'sea' } };
const boatManifest: Manifest = {
  ...{ group: 'test.flotilla.io', version: 'v1', kind: 'Boat', namespace: 'sea', name: 'b' },
  ...{ file: 'release-manifests/0000_50_boat_01.json', line: 1, raw: JSON.stringify(boatObject), object: boatObject, annotations: {} },
};

/** The Deployment as stored in a version: its generation, and the one that its controller has seen. */
const stored = (resourceVersion: string, generation: number, observedGeneration: number): KubeObject => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion, generation },
  spec: { replicas: 1 },
  status: { observedGeneration },
});

/** The Deployment as the release has it. */
const applied = (version: string, generation: number): KubeObject => {
  const made = wanted.builder.merge(stored(version, generation, 1), wanted.build({}));
  const whole = wanted.builder.merge(made, wanted.build({}));
  return { ...whole, metadata: stored(version, generation, 1).metadata };
};

const seenGeneration = (): unknown => live.get(wanted)?.judged?.status;

test('what we wrote is known before the watch tells of it, and until it does', async () => {
  live.take(wanted, stored('10', 2, 1), 'written');
  expect(seenGeneration()).toEqual({ observedGeneration: 1 });
  await server.tell('Deployment', 'MODIFIED', stored('9', 1, 1));
  expect(live.get(wanted)?.metadata.resourceVersion).toBe('10');
  await server.tell('Deployment', 'MODIFIED', stored('11', 2, 2));
  expect(seenGeneration()).toEqual({ observedGeneration: 2 });
});

test('the answer to a write that comes after the watch has told of a later version hides nothing', async () => {
  await server.tell('Deployment', 'ADDED', stored('9', 1, 1));
  await server.tell('Deployment', 'MODIFIED', stored('10', 2, 1));
  await server.tell('Deployment', 'MODIFIED', stored('11', 2, 2));
  live.take(wanted, stored('10', 2, 1), 'written');
  expect(seenGeneration()).toEqual({ observedGeneration: 2 });
});

test('an object that was made anew since an answer was sent is the one that counts', async () => {
  await server.tell('Deployment', 'ADDED', { ...stored('12', 1, 1), metadata: { ...stored('12', 1, 1).metadata, uid: 'uid-2' } });
  live.take(wanted, stored('10', 2, 1), 'written');
  expect(live.get(wanted)?.metadata.uid).toBe('uid-2');
});

test('the answer to a write that comes after the watch has told of the end of its object does not bring it back', async () => {
  await server.tell('Deployment', 'ADDED', stored('9', 1, 1));
  await server.tell('Deployment', 'DELETED', stored('11', 2, 1));
  live.take(wanted, stored('10', 2, 1), 'written');
  expect(live.get(wanted)).toBeUndefined();
  live.take(wanted, stored('12', 1, 0), 'written');
  expect(live.get(wanted)?.metadata.resourceVersion).toBe('12');
});

test('what we wrote and nobody told of before it went is missed with the next list', async () => {
  const missed: Wanted[] = [];
  live.onDrift = (one) => void missed.push(one);
  live.take(wanted, stored('10', 2, 1), 'written');
  server.version = '9';
  await server.expire('Deployment');
  await settled(() => expect(server.listed.filter((kind) => kind === 'Deployment')).toHaveLength(2));
  expect(live.get(wanted)?.metadata.resourceVersion).toBe('10');
  server.version = '12';
  await server.expire('Deployment');
  await settled(() => expect(live.get(wanted)).toBeUndefined());
  expect(missed).toEqual([wanted]);
});

test.each(['written', 'read'] as const)(
  'what was %s and went before a list is missed, also when the answer comes after it',
  async (how) => {
    const missed: Wanted[] = [];
    live.onDrift = (one) => void missed.push(one);
    server.version = '12';
    await server.expire('Deployment');
    await settled(() => expect(server.listed.filter((kind) => kind === 'Deployment')).toHaveLength(2));
    live.take(wanted, stored('10', 2, 1), how);
    expect(live.get(wanted)).toBeUndefined();
    expect(missed).toEqual([wanted]);
    live.take(wanted, stored('13', 2, 1), how);
    expect(live.get(wanted)?.metadata.resourceVersion).toBe('13');
  },
);

test('versions that are no numbers tell nothing of what was written', async () => {
  live.take(wanted, stored('ten', 2, 1), 'written');
  server.version = '12';
  await server.expire('Deployment');
  await settled(() => expect(server.listed.filter((kind) => kind === 'Deployment')).toHaveLength(2));
  expect(live.get(wanted)?.metadata.resourceVersion).toBe('ten');
});

test('the answer to a write is compared once, and the word of a watch about the same version not again', async () => {
  let builds = 0;
  const boat = new Wanted({
    ...boatManifest,
    get object() {
      builds++;
      return { ...boatObject, spec: { sails: 2 } };
    },
  });
  live.kinds.define('boats', new Map([[boat.kindKey, BOATS]]));
  await live.track({ wanted: [boat], context: {} });
  const answer = { ...boatObject, metadata: { ...boatObject.metadata, uid: 'uid-1', resourceVersion: '10' }, spec: { sails: 2, oars: 1 } };
  live.take(boat, answer, 'written');
  expect([live.standing(boat), builds]).toEqual(['same', 1]);
  await server.tell('Boat', 'ADDED', answer);
  expect([live.standing(boat), builds]).toEqual(['same', 1]);
  await server.tell('Boat', 'MODIFIED', {
    ...answer,
    metadata: { ...answer.metadata, resourceVersion: '11' },
    spec: { sails: 2, oars: 2 },
  });
  expect(live.standing(boat)).not.toBe('same');
});

test('an object that the server keeps otherwise is not written again when a write has changed nothing of it', async () => {
  const otherwise = { ...stored('9', 1, 1), spec: { replicas: 1, template: { spec: { containers: [] } } } };
  await server.tell('Deployment', 'ADDED', otherwise);
  expect(live.standing(wanted)).toBe('different');
  live.take(wanted, otherwise, 'written');
  expect(live.standing(wanted)).toBe('same');
  await server.tell('Deployment', 'MODIFIED', {
    ...otherwise,
    metadata: { ...otherwise.metadata, resourceVersion: '10' },
    status: { observedGeneration: 2 },
  });
  expect(live.standing(wanted)).toBe('same');
  await server.tell('Deployment', 'MODIFIED', {
    ...otherwise,
    metadata: { ...otherwise.metadata, resourceVersion: '11', generation: 2 },
    spec: { replicas: 2 },
  });
  expect(live.standing(wanted)).toBe('different');
});

test('a change of the status alone is no difference, and one that the server counts is looked at again', async () => {
  await server.tell('Deployment', 'ADDED', applied('9', 1));
  expect(live.standing(wanted)).toBe('same');
  await server.tell('Deployment', 'MODIFIED', applied('10', 1));
  expect(live.standing(wanted)).toBe('same');
  await server.tell('Deployment', 'MODIFIED', { ...applied('11', 2), spec: { replicas: 1 } });
  expect(live.standing(wanted)).toBe('different');
});

test('an object that may be as the server makes it is asked about once, and compared exactly from then on', async () => {
  const whole = applied('9', 1);
  const spec = {
    ...Object(whole.spec),
    template: { ...Object(whole.spec).template, spec: { ...Object(whole.spec).template.spec, volumes: [] } },
  };
  await server.tell('Deployment', 'ADDED', { ...whole, spec: { ...spec, replicas: 1 } });
  expect(live.standing(wanted)).toBe('unproven');
  live.settle(wanted, live.get(wanted)?.seen?.whole ?? {});
  expect([live.standing(wanted), live.get(wanted)?.seen?.whole]).toEqual(['same', undefined]);
});

test('of a kind that was just made nothing is read before it is asked for, and what went until then is missed', async () => {
  const boat = new Wanted(boatManifest);
  const missed: Wanted[] = [];
  live.onDrift = (one) => void missed.push(one);
  await live.track({ wanted: [boat], context: {} });
  live.expectNone([boat.kindKey]);
  live.kinds.define('boats', new Map([[boat.kindKey, BOATS]]));
  expect(await live.read(boat.kindKey)).toBe(true);
  live.take(boat, { ...boatObject, metadata: { ...boatObject.metadata, resourceVersion: '1' } }, 'written');
  expect(live.get(boat)).toBeDefined();
  expect(server.listed).not.toContain('Boat');
  await live.readNew();
  expect(server.listed).toContain('Boat');
  expect(live.get(boat)).toBeUndefined();
  expect(missed).toEqual([boat]);
});

test.each([
  { name: 'that is waited for', kindKey: KIND_KEY },
  { name: 'that the release has no object of', kindKey: 'test.flotilla.io/v1/Raft' },
])('reading of a kind $name is not put off', async ({ kindKey }) => {
  live.expectNone([kindKey]);
  expect(await live.readNew()).toBe(false);
});

const AUTOSCALER = 'HorizontalPodAutoscaler';
const autoscaler = (scaleTargetRef: unknown, namespace = 'shop'): KubeObject => ({
  metadata: { name: 'scaler', namespace, resourceVersion: '5' },
  spec: { scaleTargetRef },
});
const named = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const scaled = (version: string, replicas: number): KubeObject => {
  const { metadata, spec, ...rest } = applied(version, Number(version));
  return { ...rest, metadata, spec: { ...Object(spec), replicas } };
};

test('replicas that an autoscaler has set stay, and autoscalers are listed once for all of them', async () => {
  server.items.set(AUTOSCALER, [autoscaler(named)]);
  await server.tell('Deployment', 'ADDED', applied('9', 9));
  expect(server.listed).not.toContain(AUTOSCALER);
  await server.tell('Deployment', 'MODIFIED', scaled('10', 5));
  expect(live.standing(wanted)).toBe('different');
  expect(await live.isScaled(wanted, scaled('10', 5))).toBe(true);
  expect(live.standing(wanted)).toBe('same');
  await server.tell('Deployment', 'MODIFIED', scaled('11', 7));
  expect(live.standing(wanted)).toBe('same');
  expect(server.listed.filter((kind) => kind === AUTOSCALER)).toHaveLength(1);
});

test('beside replicas of an autoscaler other differences count', async () => {
  server.items.set(AUTOSCALER, [autoscaler(named)]);
  const whole = scaled('10', 5);
  const other = { ...whole, spec: { ...Object(whole.spec), paused: true } };
  await server.tell('Deployment', 'ADDED', other);
  expect(await live.isScaled(wanted, other)).toBe(false);
  expect(live.merge(wanted, other)).toMatchObject({ spec: { replicas: 5 } });
});

test.each([
  { name: 'of another object', items: [autoscaler({ ...named, name: 'other' })] },
  { name: 'of another kind', items: [autoscaler({ ...named, kind: 'StatefulSet' })] },
  { name: 'of another API', items: [autoscaler({ ...named, apiVersion: 'v1' })] },
  { name: 'of another namespace', items: [autoscaler(named, 'elsewhere')] },
  {
    name: 'that may not be listed',
    items: new ApiError(RuntimeErrorCode.forbidden, 'list', { status: 403, reason: 'Forbidden', serverMessage: '' }),
  },
])('an autoscaler $name keeps nothing', async ({ items }) => {
  server.items.set(AUTOSCALER, items);
  await server.tell('Deployment', 'ADDED', scaled('10', 5));
  expect(await live.isScaled(wanted, scaled('10', 5))).toBe(false);
  expect(live.standing(wanted)).toBe('different');
  server.items.set(AUTOSCALER, [autoscaler(named)]);
  expect(await live.isScaled(wanted, scaled('10', 5))).toBe(items instanceof Error);
});

test('an autoscaler that names its object no more gives the replicas back', async () => {
  server.items.set(AUTOSCALER, [autoscaler(named)]);
  await server.tell('Deployment', 'ADDED', scaled('10', 5));
  expect(await live.isScaled(wanted, scaled('10', 5))).toBe(true);
  const missed: Wanted[] = [];
  live.onDrift = (one) => void missed.push(one);
  await server.tell(AUTOSCALER, 'DELETED', autoscaler(named));
  expect([missed, live.standing(wanted)]).toEqual([[wanted], 'different']);
  live.take(wanted, scaled('10', 5), 'read');
  expect(live.merge(wanted, scaled('10', 5))).toMatchObject({ spec: { replicas: 1 } });
});

test('autoscalers whose kind the server loses for a while keep their replicas', async () => {
  server.items.set(AUTOSCALER, [autoscaler(named)]);
  await server.tell('Deployment', 'ADDED', scaled('10', 5));
  expect(await live.isScaled(wanted, scaled('10', 5))).toBe(true);
  const missed: Wanted[] = [];
  live.onDrift = (one) => void missed.push(one);
  const lost = { status: 404, reason: 'NotFound', serverMessage: 'the server could not find the requested resource' };
  server.items.set(AUTOSCALER, new ApiError(RuntimeErrorCode.notFound, 'list', lost));
  await server.expire(AUTOSCALER);
  await settled(() => expect(server.listed.filter((kind) => kind === AUTOSCALER).length).toBeGreaterThan(1));
  await turn();
  expect([missed, live.standing(wanted)]).toEqual([[], 'same']);
  expect(await live.isScaled(wanted, scaled('10', 5))).toBe(true);
});
