import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type PullerReport, SpokeName } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { type Cluster, parseRate } from '@flotilla/control-plane/servers';
import { pause, systemClock } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { parseImageReference } from '@flotilla/registry';
import { createUpgrade, type PrecacheFleet, startPrecacheFleet } from '../fixtures/precache-fleet.ts';
import { PullerObserver } from '../fixtures/puller-observer.ts';
import type { SpokeSite } from '../support/fleet.ts';
import { buildReleaseFixture, type FixtureImage } from '../support/release-fixture.ts';
import { followPrecaching } from '../support/upgrade-progress.ts';
import { beginOutage, type OutageKind, prepareOutage } from './nodes-outages.ts';

/** Rate of the cluster's link, as `tc` writes it. */
export const RATE = '50mbit';
const SPOKE = 'spoke-1';
const RUNTIME = 'containerd-2';
const FURTHER = ['node-2', 'node-3'].map((name) => ({ name, runtime: RUNTIME }) as const);
/** Bytes of headers in a packet of this link: IPv4, TCP and its time stamps. */
const HEADER_BYTES = 52;
/** Bytes on the link per byte of payload: 1,448 in a frame of 1,514. */
const FRAME_SHARE = 1_514 / 1_448;
/** Bytes from which a blob is on the link, and not only documents. */
const FIRST_BYTES = 64 * 1024;
const WATCH_MS = 100;

/** A pre-caching with one outage, or none. */
interface Cell {
  readonly kind: OutageKind | 'none';
  readonly seconds: number;
  /** Share of the bytes after which it begins. */
  readonly moment: number;
}

const KINDS: readonly OutageKind[] = ['link', 'registry', 'path', 'lead', 'power'];

/** One without an outage, in which the nodes get the puller's own image, and the table: short outages first. */
export const CELLS: readonly Cell[] = [
  { kind: 'none', seconds: 0, moment: 0 },
  ...[5, 20, 45, 120].flatMap((seconds) => KINDS.flatMap((kind) => [0.1, 0.5, 0.9].map((moment) => ({ kind, seconds, moment })))),
];

/** Outages that end connections; over a link that is cut, and beside a path that is, they go on. */
const ENDS_CONNECTIONS: ReadonlySet<string> = new Set<OutageKind>(['registry', 'lead', 'power']);

/** Name of a cell, such as `link/5/0.1`. */
export const nameOf = ({ kind, seconds, moment }: Cell): string => (kind === 'none' ? kind : `${kind}/${seconds}/${moment}`);

/** Cost of a cell. */
interface Played {
  /** Bytes over the link per byte needed. */
  readonly ratio: number;
  /** Bytes that were in the link's queue right before an outage that ended connections: theirs among them cross, and nobody takes them. */
  readonly queuedBytes: number;
  /** From the start of the Job's first container. */
  readonly firstByteSeconds: number;
  /** From the first to the last byte over the link, where no outage is between them. */
  readonly bytesSeconds: number | undefined;
  /** From the first byte to the end of the Job, when every node has everything. */
  readonly allSeconds: number;
  /** Least time for the bytes at the link's rate, with the headers of their frames. */
  readonly linkSeconds: number;
  /** Images that a node lacks. */
  readonly lacking: readonly string[];
}

/** A whole cluster of three nodes, with hub and agent. */
interface NodesWorld extends AsyncDisposable {
  readonly play: (cell: Cell, release: { readonly seed: number; readonly totalBytes: number }) => Promise<Played>;
}

/** A node of the cluster. */
type NodeOfCluster = Pick<Cluster, 'name' | 'images' | 'run' | 'runtimeSocket'>;

/** Starts the cluster, and gives every node the puller's image. */
export async function startNodesWorld(): Promise<NodesWorld> {
  const world = await startPrecacheFleet(1, { hubValues: { transport: 'work' }, spokeNodes: { runtime: RUNTIME, nodes: FURTHER } });
  try {
    const cluster = world.fleet.clusters.get(SPOKE);
    const [spoke] = world.fleet.spokes;
    if (!cluster || !spoke) throw new TypeError('a fleet without a spoke');
    const count = await countFrom(cluster, world.fleet.registry.port);
    const parts = { world, cluster, spoke, count };
    await playCell(parts, { kind: 'none', seconds: 0, moment: 0 }, { seed: 0, totalBytes: 1_000_000 });
    await spoke.setRate(RATE);
    return {
      play: (cell, release) => playCell(parts, cell, release),
      [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
    };
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}

interface Parts {
  readonly world: PrecacheFleet;
  readonly cluster: Cluster;
  readonly spoke: SpokeSite;
  /** Payload that has come over the link from the registry so far. */
  readonly count: () => Promise<number>;
}

/** Has the first node, which is the cluster's router, count what comes from a port over the link: bytes in a sender's buffers at a cut have not crossed. */
async function countFrom(cluster: Cluster, port: number): Promise<() => Promise<number>> {
  const iptables = (...args: string[]): Promise<string> => cluster.run('iptables', ['-w', '5', '-t', 'mangle', ...args]);
  await iptables('-I', 'PREROUTING', '-i', 'wan0', '-p', 'tcp', '--sport', String(port));
  return async () => {
    const rule = (await iptables('-L', 'PREROUTING', '-n', '-v', '-x')).split('\n').find((line) => line.includes(`spt:${port}`));
    const [packets = 0, bytes = 0] = rule?.trim().split(/\s+/).map(Number) ?? [];
    return bytes - packets * HEADER_BYTES;
  };
}

async function playCell(
  parts: Parts,
  { kind, seconds, moment }: Cell,
  { seed, totalBytes }: { readonly seed: number; readonly totalBytes: number },
): Promise<Played> {
  const { world, cluster, spoke, count } = parts;
  const release = await pushRelease(world, { seed, totalBytes });
  const images = [release.release, ...release.components];
  const subject = { cluster, spoke, registryPort: world.fleet.registry.port };
  if (kind !== 'none') await prepareOutage(kind, subject);
  const before = await count();
  const served = async (): Promise<number> => (await count()) - before;
  const reach = (bytes: number): Promise<boolean> => eventually(async () => (await served()) >= bytes, `${bytes} bytes`, 120_000, WATCH_MS);
  let queuedBytes = 0;
  const disturb = async (): Promise<{ startedAt: number; firstAt: number; lastAt?: number }> => {
    await reach(FIRST_BYTES);
    const firstAt = Date.now();
    const startedAt = await podStart(spoke);
    if (kind === 'none') {
      await reach(release.releaseBytes);
      return { startedAt, firstAt, lastAt: Date.now() };
    }
    await reach(moment * release.releaseBytes);
    if (ENDS_CONNECTIONS.has(kind)) queuedBytes = (await cluster.queuedBytes()) / FRAME_SHARE;
    await using _outage = await beginOutage(kind, subject);
    await pause(systemClock, seconds * 1_000);
    return { startedAt, firstAt };
  };
  await using upgrade = await createUpgrade(world, `nodes-${seed}`, release.release.pullSpec, [SPOKE]);
  const [{ startedAt, firstAt, lastAt }, endedAt] = await Promise.all([disturb(), end(parts, `nodes-${seed}`)]);
  const ratio = (await served()) / release.releaseBytes;
  const nodes: readonly NodeOfCluster[] = [cluster, ...cluster.nodes];
  const lacking = (await Promise.all(nodes.map((node) => lackingOf(node, images)))).flat();
  await upgrade[Symbol.asyncDispose]();
  await eventually(
    async () => !(await spoke.kubectl(['get', 'namespaces', '-o', 'name'])).includes(SpokeName.namespace),
    'nothing to be left of it',
    120_000,
  );
  for (const node of nodes) await removeImages(node, images);
  const linkSeconds = (release.releaseBytes * FRAME_SHARE * 8) / parseRate(RATE);
  const secondsTo = (at: number): number => (at - firstAt) / 1_000;
  const bytesSeconds = lastAt === undefined ? undefined : secondsTo(lastAt);
  const times = { firstByteSeconds: -secondsTo(startedAt), bytesSeconds, allSeconds: secondsTo(endedAt), linkSeconds };
  return { ratio, queuedBytes, ...times, lacking };
}

/** Pushes a release that no cell had before, and keeps nothing of it on this machine but in the registry. */
async function pushRelease({ fleet, registry }: PrecacheFleet, options: { readonly seed: number; readonly totalBytes: number }) {
  const { pushHost, registryName } = fleet;
  const cacheFolder = join(fleet.dir, 'payload');
  try {
    return await buildReleaseFixture({ client: registry, pushHost, registryName, cacheFolder, ...options });
  } finally {
    await rm(cacheFolder, { recursive: true, force: true });
  }
}

/** Start of the Job's first container. */
async function podStart(spoke: SpokeSite): Promise<number> {
  const path = '{.items[*].status.containerStatuses[0].state.running.startedAt}';
  const of = ['-n', SpokeName.namespace, '-l', `job-name=${SpokeName.job}`, '-o', `jsonpath=${path}`];
  return eventually(async () => Date.parse(await spoke.kubectl(['get', 'pods', ...of])) || undefined, 'the puller to run', 30_000);
}

/** Waits until the hub calls the spoke done. Returns the time of the Job's last report, or where that was not seen of the hub's word. */
async function end({ world, spoke }: Parts, name: string): Promise<number> {
  await using observer = new PullerObserver(spoke.client);
  let doneAt: number | undefined;
  using _watch = setInterval(() => {
    const note = (report: PullerReport | undefined): void => {
      if (report?.phase === 'done') doneAt = Date.parse(report.at);
    };
    void observer.report().then(note, () => undefined);
  }, 2 * WATCH_MS);
  const options = { spokes: [SPOKE], withinMs: 900_000, signal: new AbortController().signal };
  const [spokeEnd] = await followPrecaching(world.fleet.hub.client, { namespace: 'default', name }, options);
  if (spokeEnd?.state !== 'Succeeded') throw new Error(`the spoke is ${spokeEnd?.state}: ${spokeEnd?.message}`);
  return doneAt ?? Date.now();
}

async function lackingOf(node: NodeOfCluster, images: readonly FixtureImage[]): Promise<string[]> {
  const held = new Map((await node.images()).map((image) => [image.name, image.digest]));
  return images
    .filter(({ pullSpec }) => held.get(pullSpec) !== parseImageReference(pullSpec).digest)
    .map(({ name }) => `${name} on ${node.name}`);
}

/** Makes room on a node: 60 cells would take all of a disk. */
async function removeImages(node: NodeOfCluster, images: readonly FixtureImage[]): Promise<void> {
  const digests = new Set(images.map(({ digest }) => digest));
  const names = (await node.images()).filter(({ digest }) => digests.has(digest)).map(({ name }) => name);
  await runCommand('ctr', ['-a', node.runtimeSocket, '-n', 'k8s.io', 'images', 'rm', ...names], { timeoutMs: 120_000 });
}
