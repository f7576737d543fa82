import { PullerExit } from '@flotilla/api/ran';
import { systemClock } from '@flotilla/pace';
import { createLogger } from '@flotilla/runtime';
import { type ImageSource, parsePullSpec } from '@flotilla/software';
import { expect, test } from 'vitest';
import { Progress } from './progress/progress.ts';
import type { ImageStore } from './pull/store.ts';
import { runPuller } from './run.ts';

const digest = (sign: string): string => `sha256:${sign.repeat(64)}`;
const TAGGED = 'registry.test/app:v1';
const PINNED = `registry.test/other@${digest('0')}`;

const RELEASE = new TextEncoder().encode(
  JSON.stringify({
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    spec: { tags: [{ name: 'etcd', from: { kind: 'DockerImage', name: `registry.test/etcd@${digest('1')}` } }] },
  }),
);

/** A registry whose tag names one image after the other: it moves whenever somebody has asked for it, until the last. */
function movingRegistry(behindTag: readonly string[]) {
  let moves = 0;
  const messages: (string | undefined)[] = [];
  const progress = new Progress(() => 0);
  const ask = (): string => digest(behindTag[Math.min(moves++, behindTag.length - 1)] ?? '');
  const source = (): ImageSource => ({
    bytesRead: 0,
    async resolve(pullSpec) {
      messages.push(progress.report().message);
      const found = pullSpec === TAGGED ? ask() : digest('0');
      return { pullSpec, digest: found, referenceDigest: found, layers: [{ digest: `${found}-layer`, size: 10 }], labels: {} };
    },
    readFiles: async () => new Map([['release-manifests/image-references', RELEASE]]),
  });
  return { progress, messages, source, ask };
}

/** A runtime that asks the registry itself, in a moment after the list was made. */
function runtimeBeside({ ask }: ReturnType<typeof movingRegistry>) {
  const held = new Map<string, string>();
  const store: ImageStore = {
    description: 'memory',
    findsImages: false,
    fetchedBy: 'runtime',
    findLoss: async ({ name }) => (held.get(name.pullSpec) === name.referenceDigest ? undefined : 'it is not there'),
    digestsOf: async (pullSpec) => [held.get(pullSpec) ?? []].flat(),
    async pull({ pullSpec }) {
      held.set(pullSpec, pullSpec === TAGGED ? ask() : digest('0'));
      return 'runtime';
    },
    usage: async () => ({ path: '/', sizeBytes: 1e12, usedBytes: 0, availableBytes: 1e12 }),
    stored: async () => ({ blobs: new Set(), snapshots: undefined, partial: new Map() }),
    layerBytes: async () => new Map(),
    async [Symbol.asyncDispose]() {},
  };
  return { store, held };
}

const SPEC = { additionalImages: `${TAGGED}\n${PINNED}` };

async function run(behindTag: readonly string[], keys: Readonly<Record<string, string>> = SPEC) {
  const registry = movingRegistry(behindTag);
  const { store, held } = runtimeBeside(registry);
  let cached: readonly { pullSpec: string; referenceDigest: string }[] = [];
  const code = await runPuller({
    config: {
      mode: 'pull',
      recordDir: undefined,
      pinFor: undefined,
      pinBy: 'runtime',
      parallelPulls: 2,
      retryForMs: 0,
      expansion: 1,
      imageCare: { gcThresholdPercent: 85, stated: undefined },
    },
    readSpec: async () => parsePullSpec(keys),
    openSource: async () => registry.source(),
    openStore: async () => store,
    onCached: ({ names }) => {
      cached = names;
    },
    progress: registry.progress,
    signal: new AbortController().signal,
    clock: systemClock,
    random: () => 0,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  return { code, held, cached, report: registry.progress.report(), messages: registry.messages };
}

test('a tag that stays is listed once', async () => {
  const { code, report, messages } = await run(['a']);
  expect(code).toBe(PullerExit.done);
  expect(report).toMatchObject({ imagesDone: 2, imagesTotal: 2, bytesDone: 20, bytesTotal: 20 });
  expect(messages).toHaveLength(2);
});

test('a tag that moves between the list and the pull is listed again, which is said, and the end tells of the image that is there', async () => {
  const { code, held, cached, report, messages } = await run(['a', 'b']);
  expect(code).toBe(PullerExit.done);
  expect(held.get(TAGGED)).toBe(digest('b'));
  expect(cached).toContainEqual({ pullSpec: TAGGED, referenceDigest: digest('b') });
  expect(report).toMatchObject({ phase: 'done', imagesDone: 2, imagesTotal: 2, bytesDone: 20, bytesTotal: 20, failures: [] });
  expect(messages.filter((message) => message !== undefined)).toContainEqual(
    expect.stringContaining(`tries again: the runtime pulled ${digest('b')}, listed was ${digest('a')}: the tag has moved`),
  );
});

test('a tag that moves at each pull fails, and is never called done', async () => {
  const { code, report } = await run(Array.from('abcdefghij'));
  expect(code).toBe(PullerExit.partlyDone);
  expect(report).toMatchObject({ phase: 'failed', imagesDone: 1, imagesTotal: 2, failures: [{ image: TAGGED }] });
  expect(report.failures[0]?.error).toMatch(
    /the runtime pulled sha256:f+, listed was sha256:e+: the tag has moved; name the image by its digest/,
  );
});

test('patterns that leave nothing of a release end well with the sentence that says so', async () => {
  const { code, report } = await run([], { 'platform.image': PINNED, excludePrecachePatterns: 'etcd' });
  expect([code, report.phase, report.imagesDone]).toEqual([PullerExit.done, 'done', 1]);
  expect(report.message).toMatch(/^excludePrecachePatterns leave out all 1 images of the release and its operators/);
});
