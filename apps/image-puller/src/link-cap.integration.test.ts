import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@flotilla/api/core';
import { PrecacheSpecKey, PullerExit, SpokeName } from '@flotilla/api/ran';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { pause, systemClock } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { currentPlatform, MediaType } from '@flotilla/registry';
import { startHostileRegistry } from '@flotilla/registry/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { capReader, followCap } from './link-cap.ts';
import { Progress } from './progress/progress.ts';
import { pullOnce } from './pull-run.ts';

const { namespace, specConfigMap: name } = SpokeName;
/** More than one range without a cap, of which each takes its time. */
const LAYER_BYTES = 4_500_000;
const LARGE_BYTES = 200_000;
const LARGE_MS = 2_500;

/** Serves an image of four layers, and counts what is asked for by time. */
async function startCountingRegistry() {
  const registry = await startHostileRegistry();
  const layers = Array.from({ length: 4 }, () => registry.serve(randomBytes(LAYER_BYTES), MediaType.ociLayerGzip));
  const rootfs = { type: 'layers', diff_ids: layers.map(({ digest }) => digest) };
  const serve = (document: object, type: string) => registry.serve(Buffer.from(JSON.stringify(document)), type);
  const config = serve({ ...currentPlatform(), rootfs }, MediaType.ociConfig);
  const manifest = serve({ schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers }, MediaType.ociManifest);
  const asked: { readonly at: number; readonly bytes: number }[] = [];
  registry.handlers.push(async ({ headers }) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const bytes = Number(to) - Number(from) + 1;
    if (from !== undefined) asked.push({ at: performance.now(), bytes });
    if (bytes > LARGE_BYTES) await pause(systemClock, LARGE_MS);
    return false;
  });
  const bytesFrom = (since: number): number[] => {
    const bins: number[] = [];
    for (const { at, bytes } of asked)
      if (at >= since) bins[Math.floor((at - since) / 1_000)] = (bins[Math.floor((at - since) / 1_000)] ?? 0) + bytes;
    // The last second is not whole.
    return Array.from(bins, (bytes) => bytes ?? 0).slice(0, -1);
  };
  return { registry, image: `${registry.host}/team/app@${manifest.digest}`, bytesFrom };
}

test.each([
  { name: 'falls', from: 3_000_000, to: 1_000_000, after: 3_000_000 },
  { name: 'comes', from: undefined, to: 1_000_000, after: 100_000 },
  { name: 'rises', from: 1_000_000, to: 3_000_000, after: 2_000_000 },
])('a cap that $name in mid-pull holds in every second, seconds later', { timeout: 120_000 }, async ({ from, to, after }) => {
  await using stack = new AsyncDisposableStack();
  const { registry, image, bytesFrom } = await startCountingRegistry();
  stack.use(registry);
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-cap-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, PrecacheSpecKey.additionalImages), image);
  const cluster = new MemoryServer({ namespaces: [namespace] }).client();
  const data = from === undefined ? {} : { bandwidth: String(from) };
  await cluster.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data });

  const stop = new AbortController();
  stack.defer(() => stop.abort());
  const logger = createLogger({ name: 'test', level: 'silent' });
  const read = capReader(folder, cluster, namespace);
  const cap = await followCap({ bytesPerSecond: undefined, read, clock: systemClock, signal: stop.signal, logger });
  const env = { CONFIG_VOLUME_PATH: folder, LAYOUT_DIR: join(folder, 'layout'), STORE: 'layout', SPACE_PATH: folder };
  const config = readConfig({ ...env, REGISTRY_CONFIG: JSON.stringify([{ source: registry.host, mirrors: [], insecure: true }]) }, []);
  const startedAt = performance.now();
  const pull = pullOnce(config, { progress: new Progress(Date.now), signal: stop.signal, logger, cap });
  await eventually(() => registry.servedBytes >= after, 'the moment of the change', 30_000, 5);
  const before = bytesFrom(startedAt);
  await cluster.patch(ConfigMap, { namespace, name }, { data: { bandwidth: String(to) } }, { type: 'merge' });
  await eventually(() => cap.bytesPerSecond === to, 'the reading', 10_000, 5);
  const since = performance.now();
  expect(await pull).toBe(PullerExit.done);
  const then = bytesFrom(since);
  console.log(`${from ?? 'no cap'}: ${before.join(' ')}; ${to}: ${then.join(' ')}`);
  if (from !== undefined) expect(Math.max(...before)).toBeLessThanOrEqual(1.05 * from);
  expect(Math.max(...then)).toBeLessThanOrEqual(1.05 * to);
  expect(then.length).toBeGreaterThan(1);
  expect(Math.max(...then)).toBeGreaterThan(0.5 * to);
});
