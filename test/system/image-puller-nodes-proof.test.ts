import { existsSync } from 'node:fs';
import { PullerExit } from '@flotilla/api/ran';
import { createRandom } from '@flotilla/control-plane/simulators';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { losses } from './image-losses.ts';
import { fullSpec, type PullerWorld, startPullerWorld } from './image-puller-fixture.ts';
import { type PullerNode, type PullerSpoke, startSpoke } from './image-puller-spoke.ts';

/** A proof asks every node of a spoke: what one has lost is named by node and comes back there, and a node that is away is no loss. */

let world: PullerWorld;
let program: string;
const canRunContainerd = process.getuid?.() === 0 && existsSync('/usr/bin/ctr');
/** Losses of the sweep; FLOTILLA_PROOF_LOSSES=100 is the long form. */
const { FLOTILLA_PROOF_LOSSES: LOSSES, FLOTILLA_PROOF_SEED: SEED } = z
  .object({
    FLOTILLA_PROOF_LOSSES: z.coerce.number().int().min(1).default(2),
    FLOTILLA_PROOF_SEED: z.coerce.number().int().default(20_261_125),
  })
  .parse(process.env);

beforeAll(async () => {
  if (!canRunContainerd) return;
  program = (await ensureTools(['containerd'])).path('containerd');
  world = await startPullerWorld('puller-nodes-proof', [300_000, 400_000, 500_000]);
}, 600_000);
afterAll(() => world?.[Symbol.asyncDispose]());

type Ended = Awaited<Awaited<ReturnType<PullerNode['lead']>>['finished']>;
interface Run {
  readonly ended: Ended;
  /** Images that each node lacked when it began to pull, by name. */
  readonly lacking: ReadonlyMap<string, number>;
}

/** Runs a Job on the first of these nodes and the DaemonSet on the others, until the Job ends. */
async function runOn(
  spoke: PullerSpoke,
  nodes: readonly PullerNode[],
  env: Readonly<Record<string, string>> = {},
  rules: Parameters<PullerNode['lead']>[1] = {},
): Promise<Run> {
  await spoke.renewJob();
  const [first, ...others] = nodes;
  if (!first) throw new Error('no node');
  const followers = await Promise.all(others.map(async (node) => ({ node, puller: await node.follow(env) })));
  const ended = await (await first.lead(env, rules)).finished;
  for (const { puller } of followers) puller.child.kill('SIGTERM');
  const lacking = new Map<string, number>();
  for (const { node, puller } of followers) {
    const { log } = await puller.finished;
    // Reports come once a second, which may be after all is there.
    lacking.set(node.name, Number(/"missingImages":(\d+)/.exec(log)?.[1]));
  }
  return { ended, lacking };
}

/** A proof; it asks no registry. */
async function proveOn(spoke: PullerSpoke, nodes: readonly PullerNode[], rules?: Parameters<PullerNode['lead']>[1]): Promise<Ended> {
  const { requests } = spoke.registry;
  const { ended } = await runOn(spoke, nodes, { MODE: 'prove' }, rules);
  expect(spoke.registry.requests).toBe(requests);
  return ended;
}

describe.skipIf(!canRunContainerd)('a proof of several nodes', () => {
  test('names the node that lost something, which alone pulls it again', { timeout: 120_000 + LOSSES * 30_000 }, async () => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world) });
    const pulled = await runOn(spoke, spoke.nodes);
    expect(pulled.ended.exitCode, pulled.ended.log).toBe(PullerExit.done);
    const proven = await proveOn(spoke, spoke.nodes);
    expect(proven.exitCode, proven.log).toBe(PullerExit.done);
    expect(proven.last).toMatchObject({ phase: 'done', nodes: { total: 3, done: 3, failed: 0, absent: 0 } });

    const random = createRandom(SEED, 'nodes');
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const names = Object.keys(world.release.components).filter((name) => name !== 'component-0' && name !== 'component-alias');
    for (let count = 0; count < LOSSES; count++) {
      // The first of the sweep is a follower's, whatever the seed.
      const node = count === 0 ? (spoke.nodes[1] ?? expect.fail()) : pick(spoke.nodes);
      const [what, pullSpec] = [pick(Object.keys(losses)), world.release.components[pick(names)] ?? ''];
      const said = `${count}: ${what} of ${pullSpec} on ${node.name}`;
      await losses[what]?.(node, pullSpec);
      const found = await proveOn(spoke, spoke.nodes);
      expect(found.exitCode, `${said}\n${found.log}`).toBe(PullerExit.missing);
      expect(found.last.message, said).toContain(`${node.name}: 1 of `);
      expect(found.last.nodes, said).toMatchObject({ total: 3, done: 2, failed: 1, absent: 0, problems: [{ node: node.name }] });
      const already = spoke.registry.transfers.length;
      const again = await runOn(spoke, spoke.nodes);
      expect(again.ended.exitCode, `${said}\n${again.ended.log}`).toBe(PullerExit.done);
      // Of the node itself it depends: a lost document is there again when the list is read.
      for (const [name, lacking] of again.lacking) if (name !== node.name) expect(`${name} ${lacking}`, said).toBe(`${name} 0`);
      // The others have the layers, so none crosses the link again.
      const layers = spoke.registry.transfers.slice(already).filter(({ digest }) => world.release.layers.has(digest));
      expect(layers, said).toEqual([]);
      const whole = await proveOn(spoke, spoke.nodes);
      expect(whole.exitCode, `${said}\n${whole.log}`).toBe(PullerExit.done);
    }
  });

  test('does not take a node that is away for a loss, and follows the nodes of the cluster', async () => {
    await using spoke = await startSpoke({ world, nodes: 3, program, spec: fullSpec(world) });
    const [first, second, third] = spoke.nodes;
    if (!first || !second || !third) throw new Error('no nodes');
    const pulled = await runOn(spoke, spoke.nodes);
    expect(pulled.ended.exitCode, pulled.ended.log).toBe(PullerExit.done);

    const short = { patienceSeconds: 4 };
    const away = await proveOn(spoke, [first, second], short);
    expect(away.exitCode, away.log).toBe(PullerExit.absent);
    expect(away.last.message).toMatch(/^1 of 3 nodes are not proven: node-3: no puller has come from it for \d+ s$/);
    expect(away.last.nodes).toMatchObject({ total: 3, done: 2, failed: 0, absent: 1 });
    const ignored = await proveOn(spoke, [first, second], { ...short, absent: 'ignore' });
    expect(ignored.exitCode, ignored.log).toBe(PullerExit.done);
    expect(ignored.last.nodes).toMatchObject({ total: 3, done: 2, failed: 0, absent: 1, problems: [{ node: 'node-3' }] });

    // A loss counts although another node is away.
    await losses['its name']?.(second, Object.values(world.release.components).at(-1) ?? '');
    const both = await proveOn(spoke, [first, second], short);
    expect(both.exitCode, both.log).toBe(PullerExit.missing);
    expect(both.last.message).toContain('node-2: 1 of ');
    expect(both.last.message).toContain('node-3: no puller has come');
    expect((await runOn(spoke, spoke.nodes)).ended.exitCode).toBe(PullerExit.done);

    // A cordoned node runs the pods of a DaemonSet; one that has left the cluster is no part of it.
    await spoke.cordonNode(second.name);
    await spoke.removeNode(third.name);
    const two = await proveOn(spoke, [first, second], short);
    expect(two.exitCode, two.log).toBe(PullerExit.done);
    expect(two.last.nodes).toMatchObject({ total: 2, done: 2, absent: 0 });

    const added = await spoke.addNode();
    const fresh = await proveOn(spoke, [first, second, added], short);
    expect(fresh.exitCode, fresh.log).toBe(PullerExit.missing);
    expect(fresh.last.message).toContain(`${added.name}: nothing is recorded as cached on this node; pull again`);
    const filled = await runOn(spoke, [first, second, added]);
    expect(filled.ended.exitCode, filled.ended.log).toBe(PullerExit.done);
    expect((await proveOn(spoke, [first, second, added])).exitCode).toBe(PullerExit.done);
  });
});
