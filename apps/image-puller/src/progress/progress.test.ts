import { PullerReport } from '@flotilla/api/ran';
import type { WantedImage } from '@flotilla/software';
import { expect, test } from 'vitest';
import { fitReport, Progress } from './progress.ts';

const image = (name: string, ...layers: [string, number][]): WantedImage => ({
  digest: name,
  pullSpecs: [{ pullSpec: `host/${name}`, referenceDigest: name }],
  layers: layers.map(([digest, size]) => ({ digest, size })),
});
const a = image('a', ['base', 100], ['a1', 10]);
const b = image('b', ['base', 100], ['b1', 20]);

test('a shared layer counts once, in the total and in what is done', () => {
  const progress = new Progress(() => 0);
  progress.expect([a, b], 1);
  expect(progress.report()).toMatchObject({ imagesTotal: 3, bytesTotal: 130, bytesDone: 0 });
  progress.imageDone(a);
  expect(progress.report()).toMatchObject({ imagesDone: 1, bytesDone: 110 });
  progress.imageDone(b);
  expect(progress.report()).toMatchObject({ imagesDone: 2, bytesDone: 130 });
  expect(progress.bytes).toEqual({ cached: 130, missing: 0 });
});

test('bytes on their way in count, never fall, never exceed the layer, and strangers do not count', () => {
  const progress = new Progress(() => 0);
  progress.expect([a], 0);
  progress.sawLayers(
    new Map([
      ['base', 40],
      ['stranger', 1_000],
    ]),
  );
  progress.sawLayers(new Map([['base', 30]]));
  expect(progress.report().bytesDone).toBe(40);
  progress.sawLayers(new Map([['base', 5_000]]));
  expect(progress.report().bytesDone).toBe(100);
});

test('what failed and is tried again is told until it gets on, and never instead of the end', () => {
  const progress = new Progress(() => 0);
  progress.triesAgain(new Error('no address of host'));
  expect(progress.report()).toMatchObject({ phase: 'listing', message: 'tries again: no address of host' });
  progress.enter('pulling');
  expect(progress.report().message).toBeUndefined();
  progress.expect([a, image('b', ['b1', 20])], 0);
  const refusedA = () => progress.triesAgain(new Error('refused'), { pullSpec: 'host/a', layers: a.layers });
  refusedA();
  // Other images get on, which says nothing of this one.
  progress.sawLayers(new Map([['b1', 5]]));
  progress.imageDone(image('b', ['b1', 20]));
  expect(progress.report().message).toBe('tries again: refused');
  progress.sawLayers(new Map([['base', 5]]));
  expect(progress.report().message).toBeUndefined();
  refusedA();
  progress.imageDone(a);
  expect(progress.report().message).toBeUndefined();
  refusedA();
  progress.enter('failed', 'no space');
  expect(progress.report().message).toBe('no space');
});

test('the rate is that of the last ten seconds, without what was there before', () => {
  let now = 0;
  const progress = new Progress(() => now);
  progress.expect([image('c', ['c1', 10_000])], 0);
  progress.sawLayers(new Map([['c1', 1_000]]));
  progress.enter('pulling');
  for (let second = 1; second <= 20; second++) {
    now = second * 1_000;
    progress.sawLayers(new Map([['c1', 1_000 + Math.min(second, 10) * 100]]));
    if (second === 5) expect(progress.report().bytesPerSecond).toBe(100);
    if (second === 15) expect(progress.report().bytesPerSecond).toBe(50);
    progress.report();
  }
  expect(progress.report().bytesPerSecond).toBe(0);
});

test('there is no rate before it was measured for three seconds: layers that images share come at once', () => {
  let now = 0;
  const progress = new Progress(() => now);
  progress.expect([a, b], 0);
  progress.enter('pulling');
  progress.imageDone(a);
  now = 2_999;
  expect(progress.report().bytesPerSecond).toBe(0);
  now = 3_000;
  expect(progress.report().bytesPerSecond).toBe(37);
});

test('a report parses and keeps ten failures, names of 256 and errors of 512 characters', () => {
  const progress = new Progress(() => Date.UTC(2026, 0, 1));
  for (let i = 0; i < 30; i++) progress.imageFailed(`host/${i}${'x'.repeat(400)}`, new Error('e'.repeat(700)));
  progress.enter('failed', 'why');
  const report = PullerReport.parse(progress.report());
  expect(report).toMatchObject({ phase: 'failed', message: 'why', at: '2026-01-01T00:00:00.000Z' });
  expect(report.failures.map(({ image: name, error }) => [name.length, error.length])).toEqual(
    Array.from({ length: 10 }, () => [256, 512]),
  );
});

test('the end of a long error stays readable: the cause comes last, and the image is named beside it', () => {
  const progress = new Progress(() => 0);
  const digest = `sha256:${'0'.repeat(64)}`;
  const name = `registry.example/operators/${'gone/'.repeat(30)}gone@${digest}`;
  const head = `Head "https://registry.example/v2/operators/gone/manifests/${digest}"`;
  const cause = 'dial tcp: lookup registry.example: no such host; not found here either: registry.example: ENOTFOUND';
  const wrapped = `UNKNOWN: failed to pull and unpack image "${name}": failed to resolve reference "${name}": failed to do request: ${head}: ${cause}`;
  progress.imageFailed(name, new Error(wrapped));
  const [failure] = progress.report().failures;
  expect(failure?.image).toBe(name);
  expect(failure?.error).toMatch(/^UNKNOWN: failed to pull and unpack image "…"/);
  expect(failure?.error.endsWith(cause)).toBe(true);
  expect(failure?.error.length).toBeLessThanOrEqual(512);
});

test('the causes of a runtime and of our own search both stay', () => {
  const progress = new Progress(() => 0);
  const name = `registry.test/operators/gone@sha256:${'0'.repeat(64)}`;
  const ofRuntime = 'dial tcp: lookup registry.test on 10.255.255.53:53: no such host';
  const own = 'not found here either: registry.test: ENOTFOUND; name a mirror (REGISTRY_CONFIG, --registries-conf) or set HTTPS_PROXY';
  const head = `Head "https://registry.test/v2/operators/gone/manifests/sha256:${'0'.repeat(64)}"`;
  const wrapped = `UNKNOWN: failed to pull and unpack image "${name}": failed to resolve reference "${name}": failed to do request: ${head}`;
  progress.imageFailed(name, new Error(`${wrapped}: ${ofRuntime}; ${own}`));
  expect(progress.report().failures[0]?.error).toContain(`${ofRuntime}; ${own}`);
});

test.each([['é'.repeat(2_000)], ['"\\\n'.repeat(800)], ['short']])('a termination message of %j fits and is still a report', (message) => {
  const progress = new Progress(() => 0);
  for (let i = 0; i < 10; i++) progress.imageFailed(`${i}${'"'.repeat(300)}`, new Error('é'.repeat(300)));
  progress.enter('failed', message);
  const text = fitReport(progress.report(), 4_096);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
  expect(PullerReport.parse(JSON.parse(text)).message?.length).toBeGreaterThan(0);
});

test('the last growth of an image is that of the last of its layers that grew, and nobody else’s', () => {
  let now = 1_000;
  const progress = new Progress(() => now);
  const [a, b, other] = ['a', 'b', 'other'].map((digest) => ({ digest, size: 10 }));
  if (!a || !b || !other) throw new Error('three layers');
  progress.expect([{ digest: 'i', pullSpecs: [], layers: [a, b, other] }], 0);
  expect(progress.lastGrowth([a, b])).toBeUndefined();
  progress.sawLayers(new Map([['a', 5]]));
  now = 2_000;
  progress.sawLayers(new Map([['b', 5]]));
  now = 3_000;
  progress.sawLayers(
    new Map([
      ['a', 5],
      ['b', 4],
      ['other', 1],
    ]),
  );
  expect(progress.lastGrowth([a, b])).toBe(2_000);
  expect(progress.lastGrowth([a])).toBe(1_000);
});
