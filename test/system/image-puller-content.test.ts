import { PullerExit } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainerd, type PullerNode, startNode, VERSIONS } from './containerd-node.ts';
import type { BlobTransfer } from './counting-registry.ts';
import { type PullerWorld, startPullerWorld } from './image-puller-fixture.ts';

/** The puller fetches blobs itself into the content store of a containerd, and the runtime finds them there. */

let world: PullerWorld;
beforeAll(async () => {
  world = await startPullerWorld('puller-content', [20_000_000, 26_000_000, 1_200_000, 300_000]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Components, one of them under two names; release, index, operator. */
const IMAGES = 4 + 3;
const sum = (sizes: Iterable<number>): number => [...sizes].reduce((total, size) => total + size, 0);
const neededBytes = (): number => sum(world.release.layers.values());
const servedBytes = (transfers: readonly BlobTransfer[]): number => sum(transfers.map(({ bytes }) => bytes));

/** Every image is there under every name, whole and unpacked, and no lease of ours is left. */
async function expectPulled(node: PullerNode): Promise<void> {
  const ready = (await node.ctr('images', 'check', '--quiet', '--snapshotter', node.snapshotter)).split('\n');
  const names = [world.release.release, world.release.index, world.release.operator, ...Object.values(world.release.components)];
  expect(ready).toEqual(expect.arrayContaining(names));
  expect(await node.ctr('leases', 'ls')).not.toContain('flotilla');
}

describe.skipIf(!canRunContainerd).each(VERSIONS)('with containerd $version', ({ program, snapshotter }) => {
  const options = { program: '', snapshotter };
  beforeAll(async () => {
    options.program = await program();
  }, 600_000);

  test('the link is paid once: the runtime asks for no blob, and what the list read is not read again', async () => {
    await using node = await startNode(world, options);
    const first = await node.run();
    expect(first.exitCode, first.log).toBe(PullerExit.done);
    expect(first.last).toMatchObject({ fetchedBy: 'puller', imagesByRuntime: 0, imagesDone: IMAGES, bytesForList: 0, failures: [] });
    await expectPulled(node);
    const served = servedBytes(node.registry.transfers);
    console.log(`served ${served} for ${neededBytes()}: ${(served / neededBytes()).toFixed(4)}`);
    expect(served).toBeLessThanOrEqual(1.02 * neededBytes());
    expect(node.registry.transfers.filter(({ by }) => by === 'runtime')).toEqual([]);
    expect(node.registry.runtimeRequests.filter((request) => !request.startsWith('HEAD '))).toEqual([]);

    const before = node.registry.transfers.length;
    const second = await node.run();
    expect(second.exitCode, second.log).toBe(PullerExit.done);
    expect(node.registry.transfers.slice(before)).toEqual([]);
  });

  test('killed three times in mid-layer: no byte of a finished range is fetched again', async () => {
    await using node = await startNode(world, options);
    node.registry.rate = 12_000_000;
    const runs: number[] = [];
    for (const share of [0.25, 0.5, 0.75]) {
      runs.push(node.registry.transfers.length);
      const running = await node.start();
      const isInMidLayer = () =>
        servedBytes(node.registry.transfers) >= share * neededBytes() && node.registry.transfers.some((one) => isOpenRange(one));
      await eventually(isInMidLayer, 'the moment of the kill', 60_000, 5);
      running.child.kill('SIGKILL');
      expect((await running.finished).exitCode).toBe(null);
    }
    runs.push(node.registry.transfers.length);
    const last = await node.run();
    expect(last.exitCode, last.log).toBe(PullerExit.done);
    await expectPulled(node);
    expect(node.registry.transfers.filter(({ by }) => by === 'runtime')).toEqual([]);
    expect(last.log).toContain('Resuming a blob');
    expect(servedTwice(node.registry.transfers, runs)).toEqual([]);
    const served = servedBytes(node.registry.transfers);
    console.log(`killed three times: served ${served} for ${neededBytes()}: ${(served / neededBytes()).toFixed(3)}`);
    expect(served).toBeLessThanOrEqual(1.25 * neededBytes());
  });

  test('a link that is cut in mid-layer goes on at the byte of the cut', async () => {
    await using node = await startNode(world, options);
    node.registry.rate = 12_000_000;
    const running = await node.start();
    for (const share of [0.3, 0.6]) {
      await eventually(() => servedBytes(node.registry.transfers) >= share * neededBytes(), 'the moment of the cut', 240_000, 5);
      node.registry.cut();
    }
    const ended = await running.finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    expect(ended.last).toMatchObject({ imagesByRuntime: 0, imagesDone: IMAGES });
    await expectPulled(node);
    const served = servedBytes(node.registry.transfers);
    console.log(`cut twice: served ${served} for ${neededBytes()}: ${(served / neededBytes()).toFixed(3)}`);
    expect(served).toBeLessThanOrEqual(1.15 * neededBytes());
  });

  test('a cap holds in every second, over list and images', async () => {
    await using node = await startNode(world, options);
    const cap = 8_000_000;
    const ended = await node.run({ BANDWIDTH: String(cap) });
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    const start = node.registry.sent[0]?.[0] ?? 0;
    const bins: number[] = [];
    for (const [at, bytes] of node.registry.sent) {
      const bin = Math.floor((at - start) / 1_000);
      bins[bin] = (bins[bin] ?? 0) + bytes;
    }
    // A second without a byte is a hole.
    const seconds = Array.from(bins, (bytes) => bytes ?? 0);
    console.log(`cap ${cap}: ${seconds.map((bytes) => (bytes / cap).toFixed(3)).join(' ')}`);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(1.05 * cap);
    // A cap that is never used up would hold too; how much of it is used in the other seconds is a matter of the machine.
    expect(Math.max(...seconds)).toBeGreaterThan(0.25 * cap);
  });

  test('wrong bytes are never stored, and the image is asked for anew', async () => {
    await using node = await startNode(world, options);
    const wrong = [...world.release.layers].find(([, size]) => size > 25_000_000)?.[0] ?? '';
    node.registry.corrupt.add(wrong);
    const ended = await node.run({ RETRY_FOR_SECONDS: '3' });
    expect(ended.exitCode, ended.log).toBe(PullerExit.partlyDone);
    expect(ended.last.failures).toHaveLength(1);
    expect(ended.last.imagesDone).toBe(ended.last.imagesTotal - 1);
    expect(ended.log).toContain('Leaving the blobs of an image to the runtime');
    expect(await node.ctr('content', 'ls', '--quiet')).not.toContain(wrong);
    // What is held now belongs to a next run, which gets the right bytes.
    expect(await node.ctr('leases', 'ls')).toContain('flotilla-precache-');
    node.registry.corrupt.clear();
    const next = await node.run();
    expect(next.exitCode, next.log).toBe(PullerExit.done);
    await expectPulled(node);
  });

  test('a layer that was unpacked and discarded is not fetched again for another image', async () => {
    await using node = await startNode(world, { ...options, discard: true });
    const images = (name: string) => ({ additionalImages: world.release.components[name] ?? '' });
    const [base = ''] = world.release.layers.keys();
    const first = await node.run({}, images('component-2'));
    expect(first.exitCode, first.log).toBe(PullerExit.done);
    await eventually(async () => !(await node.ctr('content', 'ls', '--quiet')).includes(base), 'the layer to be discarded');
    const second = await node.run({}, images('component-3'));
    expect(second.exitCode, second.log).toBe(PullerExit.done);
    expect(node.registry.transfers.filter(({ digest }) => digest === base)).toHaveLength(1);
    expect(servedBytes(node.registry.transfers)).toBeLessThan(3_000_000);
  });

  test('switched off, the runtime fetches everything and the report says so', async () => {
    await using node = await startNode(world, options);
    const ended = await node.run({ FETCH_BLOBS: 'off' });
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    expect(ended.last).toMatchObject({ fetchedBy: 'runtime', imagesDone: IMAGES });
    expect(ended.last).not.toHaveProperty('imagesByRuntime');
    expect(ended.last.bytesForList).toBeGreaterThan(0);
    expect(node.registry.transfers.some(({ by }) => by === 'runtime')).toBe(true);
    await expectPulled(node);
  });
});

/** True for a range of the puller inside a layer that is on its way. */
const isOpenRange = ({ by, bytes, asked }: BlobTransfer): boolean => by === 'puller' && bytes > 100_000 && bytes < asked - 100_000;

/** Transfers that bring bytes of a range again that was finished: the same run asked for the next range of its blob. */
function servedTwice(transfers: readonly BlobTransfer[], runs: readonly number[]): BlobTransfer[] {
  const runOf = (index: number): number => runs.filter((start) => start <= index).length;
  const isFinished = (one: BlobTransfer, index: number): boolean =>
    transfers.some((next, at) => at > index && next.digest === one.digest && next.from > one.from && runOf(at) === runOf(index));
  const finished = transfers.filter((one, index) => isFinished(one, index));
  expect(finished.length).toBeGreaterThan(2);
  return transfers.filter((again, at) =>
    finished.some(
      (one) =>
        one.digest === again.digest &&
        transfers.indexOf(one) < at &&
        again.from < one.from + one.bytes &&
        again.from + again.bytes > one.from,
    ),
  );
}
