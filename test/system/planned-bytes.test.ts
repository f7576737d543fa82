/**
 * Bytes that `plan` says are those that the registry serves: seeded inventories on real runtimes, each inspected and then pulled.
 * `FLOTILLA_INVENTORIES=200` makes it so many.
 */
import { existsSync } from 'node:fs';
import { LayerList, type NodeInventory } from '@flotilla/api/ran';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { startRegistry } from '@flotilla/control-plane/servers';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { RegistryClient } from '@flotilla/registry';
import { systemClock } from '@flotilla/runtime';
import { buildImageList, createRegistrySource, needsOf, parsePullSpec, toLayerList, unpackBits } from '@flotilla/software';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostOf, inspectByPuller, REGISTRY_NAME, startPuller, temporaryFolder } from './image-puller-fixture.ts';
import { type NodeImages, pushNodeImages } from './planned-bytes/node-images.ts';
import { RUNTIMES, type RuntimeNode } from './planned-bytes/runtimes.ts';

const { count, seed } = readEnvironment().inventories;
const PER_RUNTIME = Math.ceil(count / RUNTIMES.length);
/** Inventories on a node at a time. */
const PER_ROUND = 10;
const canRun = process.getuid?.() === 0 && ['/usr/bin/containerd', '/usr/local/bin/containerd'].some((path) => existsSync(path));
if (!canRun) console.log("skipped: runtimes need root and Debian's containerd");

const stack = new AsyncDisposableStack();
let url = '';
let folder = '';
beforeAll(async () => {
  const store = stack.use(await temporaryFolder('planned-store'));
  url = stack.use(await startRegistry({ dir: store.path, log: () => undefined })).url;
  folder = stack.use(await temporaryFolder('planned-runs')).path;
});
afterAll(() => stack.disposeAsync());

const specOf = (images: readonly string[]) => ({ additionalImages: images.join('\n') });

/** The list as `plan` makes it, from where the command runs. */
async function listOf(images: readonly string[]): Promise<LayerList> {
  const mirrors = [{ location: hostOf(url), scheme: 'http' as const }];
  await using client = new RegistryClient({ rules: [{ prefix: REGISTRY_NAME, scheme: 'https', mirrors }] });
  const source = createRegistrySource(client, { refusedTries: 1, retryForMs: 1_000, clock: systemClock, random: Math.random });
  const list = await buildImageList(parsePullSpec(specOf(images)), source, AbortSignal.timeout(30_000));
  expect(list.unresolved).toEqual([]);
  return LayerList.parse(toLayerList(list.images));
}

const served = ({ registry }: RuntimeNode, layers: ReadonlySet<string>): number =>
  registry.transfers.reduce((sum, { digest, bytes }) => (layers.has(digest) ? sum + bytes : sum), 0);

async function pull(node: RuntimeNode, images: readonly string[]): Promise<void> {
  const { exitCode, log } = await (await startPuller(folder, specOf(images), node.env)).finished;
  expect(exitCode, log).toBe(0);
}

/** Breaks a pull off in the middle of layers. */
async function begin(node: RuntimeNode, images: readonly string[]): Promise<void> {
  const bytes = () => node.registry.sent.reduce((sum, [, count]) => sum + count, 0);
  const before = bytes();
  node.registry.rate = 2_000_000;
  const running = await startPuller(folder, specOf(images), node.env);
  await eventually(() => bytes() - before > 500_000, 'the middle of a layer', 30_000, 5);
  running.child.kill('SIGKILL');
  await running.finished.catch(() => undefined);
  node.registry.rate = undefined;
}

/** Inventories of no common layer stand on a node together: one inspection and one pull are of all of them. */
interface Round {
  readonly node: RuntimeNode;
  readonly resumes: boolean;
  readonly trials: readonly string[];
}

async function runRound({ node, resumes, trials }: Round) {
  const each: NodeImages[] = [];
  for (const trial of trials) each.push(await pushNodeImages(url, trial, createRandom(seed, trial)));
  await pull(
    node,
    each.flatMap(({ present }) => present),
  );
  const begun = each.flatMap((images) => images.begun ?? []);
  if (begun.length > 0 && resumes) await begin(node, begun);

  const wanted = each.flatMap((images) => images.wanted);
  const all = await listOf(wanted);
  const answer = await inspectByPuller(folder, all, node.env);
  if ('error' in answer) expect.fail(answer.error);
  expect(answer.unsure).toBeUndefined();
  expect(needsOf(all, answer)).toBeDefined();
  const before = each.map(({ layers }) => served(node, layers));
  await pull(node, wanted);
  return each.map((images, at) => {
    const isOfTrial = ({ digest }: { digest: string }): boolean => images.layers.has(digest);
    return {
      trial: `${trials[at]} (${images.says})`,
      planned: plannedOf(all, answer, isOfTrial),
      served: served(node, images.layers) - (before[at] ?? 0),
      whole: all.layers.filter(isOfTrial).reduce((sum, { size }) => sum + size, 0),
    };
  });
}

/** Bytes to pull of some layers of a list. */
function plannedOf(list: LayerList, { held, partial }: NodeInventory, counts: (layer: { digest: string }) => boolean): number {
  const bits = unpackBits(held, list.layers.length) ?? [];
  const have = new Map(partial);
  return list.layers.reduce((sum, layer, at) => (counts(layer) && !bits[at] ? sum + layer.size - (have.get(at) ?? 0) : sum), 0);
}

describe.skipIf(!canRun).each(RUNTIMES)('$name', ({ name, resumes, start }) => {
  test(`serves what was planned, in ${PER_RUNTIME} inventories`, { timeout: 120_000 + PER_RUNTIME * 20_000 }, async () => {
    await using node = await start(url);
    const trials = Array.from({ length: PER_RUNTIME }, (_, at) => `t${RUNTIMES.findIndex((kind) => kind.name === name)}-${seed}-${at}`);
    const results: Awaited<ReturnType<typeof runRound>> = [];
    for (let at = 0; at < trials.length; at += PER_ROUND)
      results.push(...(await runRound({ node, resumes, trials: trials.slice(at, at + PER_ROUND) })));
    const sum = (key: 'planned' | 'served' | 'whole') => results.reduce((total, result) => total + result[key], 0);
    const apart = sum('served') - sum('planned');
    console.log(
      `${name}, seed ${seed}: ${results.length} inventories, planned ${sum('planned')} of ${sum('whole')}, ${apart} apart from served`,
    );
    expect(results.filter(({ planned, served: bytes }) => planned !== bytes)).toEqual([]);
    // A plan would prove little where nothing, or all, were there.
    expect(sum('planned')).toBeGreaterThan(0);
    expect(sum('planned')).toBeLessThan(sum('whole'));
  });
});
