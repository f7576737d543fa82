import { existsSync } from 'node:fs';
import { appendFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { Annotation } from '@flotilla/api';
import { Job } from '@flotilla/api/core';
import { PullerExit, PullerReport, SpokeName } from '@flotilla/api/ran';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { createRandom } from '@flotilla/control-plane/simulators';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { BlobTransfer } from './counting-registry.ts';
import { fullSpec, type PullerWorld, startPullerWorld } from './image-puller-fixture.ts';
import { type PullerNode, type PullerSpoke, startSpoke } from './image-puller-spoke.ts';

/** The pullers of one spoke's nodes: each blob crosses the link once, whatever happens to a node. */

let world: PullerWorld;
let program: string;
const canRunContainerd = process.getuid?.() === 0 && existsSync('/usr/bin/ctr');

beforeAll(async () => {
  if (!canRunContainerd) return;
  program = (await ensureTools(['containerd'])).path('containerd');
  world = await startPullerWorld('puller-nodes', [9_000_000, 12_000_000, 6_000_000, 8_000_000, 5_000_000, 7_000_000, 1_200_000, 300_000]);
}, 600_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const sum = (sizes: Iterable<number>): number => [...sizes].reduce((total, size) => total + size, 0);
const neededBytes = (): number => sum(world.release.layers.values());
const servedBytes = (transfers: readonly BlobTransfer[]): number => sum(transfers.map(({ bytes }) => bytes));
const imageNames = (): string[] => [
  world.release.release,
  world.release.index,
  world.release.operator,
  ...Object.values(world.release.components),
];

async function expectWhole(nodes: readonly PullerNode[]): Promise<void> {
  for (const node of nodes) expect(await node.ready(), node.name).toEqual(expect.arrayContaining(imageNames()));
}

async function progressOf(spoke: PullerSpoke): Promise<PullerReport> {
  const job = await spoke.admin.get(Job, { namespace: SpokeName.namespace, name: SpokeName.job });
  return PullerReport.parse(JSON.parse(job?.metadata.annotations?.[Annotation.progress] ?? ''));
}

/** Caps in bytes a second; FLOTILLA_NODE_CAPS=600000,2000000,16000000 is a longer list. */
const CAPS = z
  .string()
  .default('8000000')
  .transform((text) => text.split(',').map(Number))
  .parse(process.env.FLOTILLA_NODE_CAPS);

/** Seeded faults; `FLOTILLA_NODE_FAULTS` makes the sweep longer. */
const FAULTS = { ...readEnvironment().nodeFaults, kinds: ['kill', 'stop', 'cut', 'reboot', 'cordon'] } as const;

describe.skipIf(!canRunContainerd)('the pullers of a spoke', () => {
  test('fill three nodes over a link that is paid once, and sum them up', async () => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world) });
    const [first, ...others] = spoke.nodes;
    const followers = await Promise.all(others.map((node) => node.follow()));
    const lead = await first?.lead();
    const ended = await lead?.finished;
    console.log(ended?.log.slice(-3000));
    expect(ended?.exitCode, ended?.log).toBe(PullerExit.done);
    await expectWhole(spoke.nodes);
    const served = servedBytes(spoke.registry.transfers);
    console.log(`three nodes: served ${served} for ${neededBytes()}: ${(served / neededBytes()).toFixed(4)}`);
    expect(served).toBeLessThanOrEqual(1.02 * neededBytes());
    expect(spoke.registry.transfers.filter(({ by }) => by === 'runtime')).toEqual([]);
    expect(await progressOf(spoke)).toMatchObject({ phase: 'done', nodes: { total: 3, done: 3, failed: 0, absent: 0 } });
    await endAll(followers);
    for (const node of spoke.nodes)
      await eventually(async () => !(await node.ctr('leases', 'ls')).includes('flotilla'), 'no lease of ours');
  });

  test.each(CAPS)('hold the cap of the link together, whichever node fetches: %i bytes a second', async (cap) => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world) });
    const env = { BANDWIDTH: String(cap) };
    const [first, ...others] = spoke.nodes;
    const followers = await Promise.all(others.map((node) => node.follow(env)));
    using stalls = watchStalls();
    const ended = await (await first?.lead(env))?.finished;
    expect(ended?.exitCode, ended?.log).toBe(PullerExit.done);
    await endAll(followers);
    const bins = perSecond(spoke.registry.sent);
    console.log(
      `cap ${cap} over three nodes: ${bins.map((bytes) => (bytes / cap).toFixed(3)).join(' ')}; stalled for ${stalls.longestMs} ms`,
    );
    // A range that a busy machine holds up counts in the next second, and no program can help it.
    const most = (1.05 + stalls.longestMs / 1_000) * cap;
    // Wherever a second begins.
    for (let shift = 0; shift < 1_000; shift += 100)
      expect(Math.max(...perSecond(spoke.registry.sent, shift)), `bins from ${shift} ms on`).toBeLessThanOrEqual(most);
    expect(servedBytes(spoke.registry.transfers)).toBeLessThanOrEqual(1.02 * neededBytes());
  });

  test(`are killed, stopped, cut, rebooted and cordoned at ${FAULTS.moments} moments, seed ${FAULTS.seed}: every node is whole, no finished blob crosses twice`, {
    timeout: 600_000,
  }, async () => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world) });
    const random = createRandom(FAULTS.seed, 'nodes');
    spoke.registry.rate = 9_000_000;
    const [first, ...others] = spoke.nodes;
    const running = new Map<PullerNode, Awaited<ReturnType<PullerNode['follow']>>>();
    for (const node of others) running.set(node, await node.follow());
    const lead = await first?.lead();
    const said: string[] = [];
    for (let moment = 1; moment <= FAULTS.moments; moment += 1) {
      const at = (moment / (FAULTS.moments + 1)) * 0.9 * neededBytes();
      await eventually(() => servedBytes(spoke.registry.transfers) >= at || lead?.child.exitCode !== null, 'the moment', 120_000, 20);
      if (lead?.child.exitCode !== null) break;
      const node = others[Math.floor(random() * others.length)] ?? expect.fail();
      const { child } = running.get(node) ?? expect.fail();
      const fault = FAULTS.kinds[Math.floor(random() * FAULTS.kinds.length)];
      said.push(`${fault} ${node.name}`);
      if (fault === 'cut') spoke.registry.cut();
      else if (fault === 'cordon') await spoke.cordonNode(node.name);
      else if (fault === 'stop') {
        child.kill('SIGSTOP');
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        child.kill('SIGCONT');
      } else {
        child.kill('SIGKILL');
        await running.get(node)?.finished.catch(() => undefined);
        if (fault === 'reboot') await node.reboot();
        running.set(node, await node.follow());
      }
    }
    const ended = await lead?.finished;
    console.log(`${said.join(', ')}: served ${(servedBytes(spoke.registry.transfers) / neededBytes()).toFixed(3)}`);
    expect(ended?.exitCode, ended?.log).toBe(PullerExit.done);
    await expectWhole(spoke.nodes);
    await endAll([...running.values()]);
    expect(finishedTwice(spoke.registry.transfers), said.join(', ')).toEqual([]);
  });

  test('fill the others when the disk of one is full, name it, and give it everything once there is room', {
    timeout: 180_000,
  }, async () => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world), disks: { 'node-3': 400 } });
    using stored = watchStored(spoke);
    spoke.registry.rate = 12_000_000;
    const [first, second, small] = spoke.nodes;
    if (!first || !second || !small) throw new Error('no nodes');
    const followers = [await second.follow(), await small.follow()];
    const lead = await first.lead();
    await eventually(() => servedBytes(spoke.registry.transfers) > 0.2 * neededBytes(), 'some bytes', 60_000);
    const filler = join(small.dir, 'filler');
    await fillDisk(filler);
    const ended = await lead.finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.partlyDone);
    expect(ended.last.message).toMatch(/^1 of 3 nodes are not filled: node-3: .*space/);
    expect(ended.last.nodes).toMatchObject({ total: 3, done: 2, failed: 1, problems: [{ node: 'node-3' }] });
    await expectWhole([first, second]);
    await rm(filler);
    await spoke.renewJob();
    const again = await (await first.lead()).finished;
    expect(again.exitCode, again.log).toBe(PullerExit.done);
    await expectWhole(spoke.nodes);
    // Bytes that a full disk refused have crossed the link without being anywhere: only what some node had counts.
    expect(stored.askedAgain).toEqual([]);
    await endAll(followers);
  });

  test('know a node that comes in mid-run, and forget one that leaves the cluster', async () => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world) });
    spoke.registry.rate = 4_000_000;
    const [first, second, gone] = spoke.nodes;
    const follower = await second?.follow();
    const lead = await first?.lead();
    await eventually(() => servedBytes(spoke.registry.transfers) > 0.2 * neededBytes(), 'some bytes', 60_000);
    await spoke.removeNode(gone?.name ?? '');
    const added = await spoke.addNode();
    const late = await added.follow();
    const ended = await lead?.finished;
    expect(ended?.exitCode, ended?.log).toBe(PullerExit.done);
    await expectWhole([first, second, added].filter((node) => node !== undefined));
    expect(servedBytes(spoke.registry.transfers)).toBeLessThanOrEqual(1.02 * neededBytes());
    expect(ended?.last.nodes).toMatchObject({ total: 3, done: 3, absent: 0 });
    await endAll([follower, late].filter((each) => each !== undefined));
  });
});

/** Leaves a few MB of a disk on which others write too: its runtime's own files find room, a layer does not. */
async function fillDisk(filler: string): Promise<void> {
  try {
    for (;;) await appendFile(filler, Buffer.alloc(2_000_000));
  } catch {
    await truncate(filler, (await stat(filler)).size - 4_000_000);
  }
}

async function endAll(pullers: readonly Awaited<ReturnType<PullerNode['follow']>>[]): Promise<void> {
  for (const { child } of pullers) child.kill('SIGTERM');
  for (const { finished } of pullers) await finished.catch(() => undefined);
}

function perSecond(sent: readonly (readonly [at: number, bytes: number])[], shiftMs = 0): number[] {
  const start = (sent[0]?.[0] ?? 0) - shiftMs;
  const bins: number[] = [];
  for (const [at, bytes] of sent) {
    const bin = Math.floor((at - start) / 1_000);
    bins[bin] = (bins[bin] ?? 0) + bytes;
  }
  return Array.from(bins, (bytes) => bytes ?? 0);
}

/** Notes when this machine lets a program wait. */
function watchStalls(): Disposable & { readonly longestMs: number } {
  const EVERY_MS = 10;
  let before = performance.now();
  const stalls = { longestMs: 0 };
  const timer = setInterval(() => {
    const now = performance.now();
    stalls.longestMs = Math.max(stalls.longestMs, Math.round(now - before - EVERY_MS));
    before = now;
  }, EVERY_MS);
  return Object.assign(stalls, { [Symbol.dispose]: () => clearInterval(timer) });
}

/** Notes blobs that some node has had, and those of them that are asked for again. */
function watchStored({ nodes, registry }: PullerSpoke): Disposable & { readonly askedAgain: readonly string[] } {
  const had = new Set<string>();
  const askedAgain: string[] = [];
  const look = (): void => {
    for (const digest of world.release.layers.keys())
      if (!had.has(digest) && nodes.some(({ blobPath }) => existsSync(blobPath(digest)))) had.add(digest);
  };
  registry.onAsked = (digest) => {
    look();
    if (had.has(digest)) askedAgain.push(digest);
  };
  const timer = setInterval(look, 20);
  return { askedAgain, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Blobs of which bytes were served again after the last of them had been served. */
function finishedTwice(transfers: readonly BlobTransfer[]): string[] {
  return [...world.release.layers].flatMap(([digest, size]) => {
    const of = transfers.filter((one) => one.digest === digest);
    const end = of.findIndex(({ from, bytes }) => from + bytes === size);
    return end >= 0 && of.slice(end + 1).some(({ bytes }) => bytes > 0) ? [digest] : [];
  });
}
