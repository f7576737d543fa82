import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { type Clock, createLogger, systemClock } from '@flotilla/runtime';
import { unpackBits, type WantedImage } from '@flotilla/software';
import { expect, test } from 'vitest';
import { NoSpaceError, PullerErrorCode, StoreError } from '../errors.ts';
import { Progress } from '../progress/progress.ts';
import { findMissing, pullImages } from './pull-images.ts';
import type { ImageStore } from './store.ts';

const image = (name: string, size: number, ...more: string[]): WantedImage => ({
  digest: name,
  pullSpecs: [name, ...more].map((pullSpec) => ({ pullSpec, referenceDigest: name })),
  layers: [{ digest: `${name}-layer`, size }],
});

/** Fakes a store that records its pulls; `pulling` decides how each ends. */
function fakeStore(pulling: (name: string, signal: AbortSignal) => Promise<void> = async () => {}) {
  const held = new Set<string>();
  const pulls: string[] = [];
  const digests = new Map<string, string>();
  const store: ImageStore = {
    description: 'memory',
    findsImages: false,
    fetchedBy: 'puller',
    findLoss: async ({ name }) => (held.has(name.pullSpec) ? undefined : 'it is not there'),
    digestsOf: async (pullSpec) => [digests.get(pullSpec) ?? []].flat(),
    async pull({ pullSpec, referenceDigest }, _layers, signal) {
      digests.set(pullSpec, referenceDigest);
      pulls.push(pullSpec);
      await pulling(pullSpec, signal);
      held.add(pullSpec);
      return 'puller';
    },
    usage: async () => ({ path: '/', sizeBytes: 1, usedBytes: 0, availableBytes: 1 }),
    stored: async () => ({ blobs: new Set(), snapshots: undefined, partial: new Map() }),
    layerBytes: async () => new Map(),
    async [Symbol.asyncDispose]() {},
  };
  return { store, held, pulls };
}

const retryDeps = (progress: Progress) => ({
  progress,
  retryForMs: 60_000,
  clock: systemClock,
  random: () => 0,
  signal: new AbortController().signal,
  logger: createLogger({ name: 'test', level: 'silent' }),
});

const pull = (store: ImageStore, images: WantedImage[], options: { parallel?: number; signal?: AbortSignal } = {}) => {
  const progress = new Progress(() => 0);
  progress.expect(images, 0);
  return { progress, outcome: pullImages({ ...retryDeps(progress), store, images, parallel: 2, ...options }) };
};

test('the largest first, never more at once than allowed, and the next as soon as one ends', async () => {
  const gates = new Map<string, () => void>();
  const { store, pulls } = fakeStore((name) => new Promise((resolve) => gates.set(name, resolve)));
  const { outcome } = pull(store, [image('small', 1), image('large', 3), image('middle', 2)]);
  await expect.poll(() => pulls).toEqual(['large', 'middle']);
  gates.get('middle')?.();
  await expect.poll(() => pulls).toEqual(['large', 'middle', 'small']);
  gates.get('small')?.();
  gates.get('large')?.();
  expect(await outcome).toEqual({ pulled: 3, failures: [], moved: [] });
});

test('an image is pulled under each of its names that is not there', async () => {
  const { store, held, pulls } = fakeStore();
  held.add('a');
  const { outcome, progress } = pull(store, [image('a', 1, 'b', 'c')]);
  await outcome;
  expect(pulls).toEqual(['b', 'c']);
  expect(progress.report()).toMatchObject({ imagesDone: 1, bytesDone: 1 });
});

test('a refused image is tried three times and does not stop the others', async () => {
  const { store, pulls } = fakeStore(async (name) => {
    if (name === 'bad') throw new StoreError(PullerErrorCode.storeRefused, 'NOT_FOUND: no such image', { transient: false });
  });
  const { outcome, progress } = pull(store, [image('bad', 9), image('good', 1)]);
  expect((await outcome).failures).toHaveLength(1);
  expect(pulls.filter((name) => name === 'bad')).toHaveLength(3);
  expect(progress.report()).toMatchObject({ imagesDone: 1, failures: [{ image: 'bad', error: 'NOT_FOUND: no such image' }] });
});

test('while a registry has one image wait, others take its place, and a full disk ends the wait', async () => {
  const held: Clock = { now: () => 0, setTimer: () => ({ [Symbol.dispose]: () => undefined }) };
  const { store, pulls } = fakeStore(async (name) => {
    if (name === 'limited') throw new RegistryError(RegistryErrorCode.rateLimited, 'slow down', { retryAfterMs: 3_600_000 });
    if (name === 'last') throw new NoSpaceError('full');
  });
  const progress = new Progress(() => 0);
  const images = [image('limited', 9), image('next', 2), image('last', 1)];
  progress.expect(images, 0);
  const outcome = pullImages({ ...retryDeps(progress), clock: held, store, images, parallel: 1 });
  await expect(outcome).rejects.toThrow('full');
  expect(pulls).toEqual(['limited', 'next', 'last']);
  expect(progress.report()).toMatchObject({ imagesDone: 1, message: 'tries again: slow down' });
});

test('no more images wait for a registry at once than are pulled at once', async () => {
  const held: Clock = { now: () => 0, setTimer: () => ({ [Symbol.dispose]: () => undefined }) };
  const { store, pulls } = fakeStore(async () => {
    throw new RegistryError(RegistryErrorCode.rateLimited, 'slow down', { retryAfterMs: 3_600_000 });
  });
  const stop = new AbortController();
  const progress = new Progress(() => 0);
  const images = Array.from({ length: 9 }, (_, i) => image(`image-${i}`, 9 - i));
  const outcome = pullImages({ ...retryDeps(progress), clock: held, store, images, parallel: 2, signal: stop.signal });
  const rejected = expect(outcome).rejects.toThrow('SIGTERM');
  await expect.poll(() => pulls).toHaveLength(4);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(pulls).toHaveLength(4);
  stop.abort(new Error('SIGTERM'));
  await rejected;
});

test('a broken transfer is tried again', async () => {
  let failures = 4;
  const { store } = fakeStore(async () => {
    if (failures-- > 0) throw new StoreError(PullerErrorCode.storeRefused, 'connection reset', { transient: true });
  });
  expect(await pull(store, [image('a', 1)]).outcome).toEqual({ pulled: 1, failures: [], moved: [] });
});

test.each([
  { has: ['sha256:index'], means: 'the index that was listed', failures: 0 },
  { has: ['sha256:other', 'sha256:manifest'], means: 'the manifest of the platform, as CRI-O tells it', failures: 0 },
  { has: ['sha256:other'], means: 'another image', failures: 1 },
  { has: [], means: 'nothing', failures: 1 },
])('a tag that means $means after its pull has $failures failures', async ({ has, failures }) => {
  const { store } = fakeStore();
  const tagged = { ...image('h/a:1', 1), digest: 'sha256:manifest', pullSpecs: [{ pullSpec: 'h/a:1', referenceDigest: 'sha256:index' }] };
  const { outcome } = pull({ ...store, digestsOf: async () => has }, [tagged]);
  expect(await outcome).toMatchObject({ pulled: 1 - failures, moved: Array.from({ length: failures }, () => ({ pullSpec: 'h/a:1' })) });
});

test('a full disk stops everything', async () => {
  const { store, pulls } = fakeStore(async () => {
    throw new NoSpaceError('full');
  });
  await expect(pull(store, [image('a', 3), image('b', 2), image('c', 1)], { parallel: 1 }).outcome).rejects.toThrow('full');
  expect(pulls).toEqual(['a']);
});

test('an abort reaches the pulls under way and starts no other', async () => {
  const stop = new AbortController();
  const { store, pulls } = fakeStore(
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled')))),
  );
  const { outcome } = pull(store, [image('a', 3), image('b', 2), image('c', 1)], { signal: stop.signal });
  const rejected = expect(outcome).rejects.toThrow('SIGTERM');
  await expect.poll(() => pulls).toEqual(['a', 'b']);
  stop.abort(new Error('SIGTERM'));
  await rejected;
  expect(pulls).toEqual(['a', 'b']);
});

test('an image with all its names in the store is not missing', async () => {
  const { store, held } = fakeStore();
  held.add('a').add('b');
  const images = [image('a', 10), image('b', 20, 'b2'), image('c', 30)];
  const progress = new Progress(() => 0);
  progress.expect(images, 0);
  const missing = await findMissing(store, images, retryDeps(progress));
  expect(missing.images.map(({ digest }) => digest)).toEqual(['b', 'c']);
  expect(progress.report()).toMatchObject({ imagesDone: 1, bytesDone: 10, bytesTotal: 60 });
});

test('layers of missing images that are there, or in part, count as done, and those to be unpacked need their space', async () => {
  const { store, held } = fakeStore();
  held.add('a');
  const images = [image('a', 10), image('b', 20), image('c', 30), image('d', 40)];
  const progress = new Progress(() => 0);
  progress.expect(images, 0);
  const content = { blobs: new Set(['b-layer']), snapshots: new Set<string>(), partial: new Map([['c-layer', 7]]) };
  expect(await findMissing({ ...store, stored: async () => content }, images, retryDeps(progress))).toMatchObject({ packedBytes: 20 });
  expect(progress.report()).toMatchObject({ imagesDone: 1, bytesDone: 10 + 20 + 7, bytesTotal: 100 });
  expect(unpackBits(progress.report().layers?.held ?? '', 4)).toEqual([true, true, false, false]);
});

/** Wraps the store; its runtime fails the first `calls` calls. */
function unavailableFor(store: ImageStore, calls: number): ImageStore {
  let left = calls;
  const gate = async <T>(call: () => Promise<T>): Promise<T> => {
    if (left-- > 0) throw new StoreError(PullerErrorCode.storeUnreachable, 'the runtime does not answer', { transient: true });
    return call();
  };
  return {
    ...store,
    findLoss: (image, signal) => gate(() => store.findLoss(image, signal)),
    pull: (name, layers, signal) => gate(() => store.pull(name, layers, signal)),
    stored: (images, signal) => gate(() => store.stored(images, signal)),
    layerBytes: (layers, signal) => gate(() => store.layerBytes(layers, signal)),
  };
}

test('a runtime that is away for a while costs no image', async () => {
  const { store, held } = fakeStore();
  const images = Array.from({ length: 20 }, (_, i) => image(`image-${i}`, i + 1));
  const { outcome } = pull(unavailableFor(store, 6), images, { parallel: 5 });
  expect(await outcome).toEqual({ pulled: 20, failures: [], moved: [] });
  expect(held.size).toBe(20);
});

test('a runtime that is away during the check of the store does not end the run', async () => {
  const { store, held } = fakeStore();
  held.add('a');
  const images = [image('a', 10), image('b', 20)];
  const progress = new Progress(() => 0);
  progress.expect(images, 0);
  const missing = await findMissing(unavailableFor(store, 3), images, retryDeps(progress));
  expect(missing.images.map(({ digest }) => digest)).toEqual(['b']);
});

test('a broken pull of an image that is there by then is not pulled again', async () => {
  const { store, held, pulls } = fakeStore(async (name) => {
    held.add(name);
    throw new StoreError(PullerErrorCode.storeUnreachable, 'the runtime went away', { transient: true });
  });
  expect(await pull(store, [image('a', 1)]).outcome).toEqual({ pulled: 1, failures: [], moved: [] });
  expect(pulls).toEqual(['a']);
});

/** Clock that runs its timers at once, in the order of their times. */
function simulatedClock(): Clock {
  let now = 0;
  const timers = new Map<() => void, number>();
  return {
    now: () => now,
    setTimer(ms, fn) {
      timers.set(fn, now + ms);
      setImmediate(() => {
        const [next] = [...timers].toSorted(([, one], [, other]) => one - other);
        if (!next) return;
        timers.delete(next[0]);
        now = Math.max(now, next[1]);
        next[0]();
      });
      return { [Symbol.dispose]: () => void timers.delete(fn) };
    },
  };
}

test('an image whose listing the registry limited is asked of the runtime after the wait', async () => {
  const clock = simulatedClock();
  const at: number[] = [];
  const { store } = fakeStore(async () => void at.push(clock.now()));
  const handedOver = new RegistryError(RegistryErrorCode.rateLimited, 'asks to wait 15 s', { retryAfterMs: 15_000 });
  const images = [{ ...image('a', 0), layers: [], handedOver }];
  const progress = new Progress(() => clock.now());
  progress.expect(images, 0);
  expect(await pullImages({ ...retryDeps(progress), clock, store, images, parallel: 1 })).toMatchObject({ pulled: 1 });
  expect(at).toEqual([expect.toSatisfy((time: number) => time >= 15_000)]);
});

test.each([
  { name: 'goes on as long as its own layers grow', grows: 'a-layer', tries: 6, want: { pulled: 1 } },
  { name: 'is given up while only others’ layers grow', grows: 'b-layer', tries: 3, want: { pulled: 0 } },
])('a pull that breaks after longer than there is time $name', async ({ grows, tries, want }) => {
  const clock = simulatedClock();
  let had = 0;
  const { store, pulls } = fakeStore(async () => {
    if (pulls.length > 5) return;
    await new Promise<void>((resolve) => void clock.setTimer(120_000, resolve));
    throw new StoreError(PullerErrorCode.storeRefused, 'connection reset', { transient: true });
  });
  const progress = new Progress(() => clock.now());
  const images = [image('a', 10_000), image('b', 10_000)];
  progress.expect(images, 0);
  const layerBytes = async () => new Map([[grows, ++had]]);
  const outcome = await pullImages({
    ...retryDeps(progress),
    clock,
    store: { ...store, layerBytes },
    images: images.slice(0, 1),
    parallel: 1,
  });
  expect(outcome).toMatchObject(want);
  expect(pulls).toHaveLength(tries);
});
