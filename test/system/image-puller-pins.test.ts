import { readFile } from 'node:fs/promises';
import { Annotation } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { blocksBelow } from '../fixtures/documented-blocks.ts';
import { World } from '../integration/precache/world.ts';
import { canRunContainerd, startNode, VERSIONS } from './containerd-node.ts';
import { type PullerWorld, startPullerWorld } from './image-puller-fixture.ts';

/** The Jobs that the hub plans for an upgrade with pins, carried out on a real containerd: pinned while it lasts, and no more after it. */

const PullerJob = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ containers: z.array(z.object({ env: z.array(z.object({ name: z.string(), value: z.string().optional() })) })) }),
    }),
  }),
});
const SPOKE = 'real';

let release: PullerWorld;
let hub: World;
beforeAll(async () => {
  if (!canRunContainerd) return;
  release = await startPullerWorld('puller-pins', [300_000, 400_000]);
  hub = await World.start({ spokes: [SPOKE], transport: 'work', job: { seconds: 1, startupMs: 200 } });
});
afterAll(async () => {
  await hub?.stop();
  await release?.[Symbol.asyncDispose]();
});

const Unpin = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ initContainers: z.tuple([z.object({ env: z.array(z.object({ name: z.string(), value: z.string() })) })]) }),
    }),
  }),
});

/** Variables of the puller that docs/uninstalling.md runs on each node, but for the socket, which is elsewhere here. */
async function documentedUnpin(): Promise<Record<string, string>> {
  const page = await readFile(new URL('../../docs/uninstalling.md', import.meta.url), 'utf8');
  const [script = ''] = blocksBelow(page, 'Pins on a spoke');
  const [, manifest = ''] = /<<EOF\n([\s\S]*?)\nEOF\n/.exec(script) ?? [];
  const [{ env }] = Unpin.parse(parse(manifest)).spec.template.spec.initContainers;
  return Object.fromEntries(env.flatMap(({ name, value }) => (name === 'CRI_SOCKET' ? [] : [[name, value]])));
}

/** What the hub tells the puller of the Job that is on the spoke now; undefined while there is none of that mode. */
function plannedFor(mode: string | undefined): Record<string, string> | undefined {
  const job = PullerJob.safeParse(hub.readOn(SPOKE, 'Job', 'pre-cache')).data;
  const env = job?.spec.template.spec.containers.flatMap((container) => container.env) ?? [];
  const planned = Object.fromEntries(
    env.flatMap(({ name, value }) => (value !== undefined && (name === 'MODE' || name === 'PIN_FOR') ? [[name, value]] : [])),
  );
  return job && planned.MODE === mode ? planned : undefined;
}

describe.skipIf(!canRunContainerd).each(VERSIONS.filter(({ knowsPins }) => knowsPins))('with containerd $version', (version) => {
  test('what the hub plans pins on the node until the upgrade is deleted', async () => {
    await using node = await startNode(release, { ...version, program: await version.program() });
    const pins = async () => (await node.ctr('images', 'ls', '--quiet')).split('\n').filter((name) => name.startsWith('precache.invalid/'));
    hub.spokes.setFaults(SPOKE, { jobsHeld: true });
    const { metadata } = await hub.upgrade('real', [SPOKE], {}, { [Annotation.pins]: 'runtime' });
    const pull = await eventually(() => plannedFor(undefined), 'the Job that pulls', 60_000);
    expect(pull).toEqual({ PIN_FOR: metadata.uid });
    const pulled = await node.run(pull);
    expect(pulled.exitCode, pulled.log).toBe(PullerExit.done);
    expect(pulled.last.namesPinned).toBe(pulled.last.imagesTotal + 1);
    expect(await pins()).not.toEqual([]);
    hub.spokes.setFaults(SPOKE, {});
    await hub.untilStates('real', { [SPOKE]: 'Succeeded' });
    await hub.untilClean([SPOKE]);

    hub.spokes.setFaults(SPOKE, { jobsHeld: true });
    await hub.delete('real');
    const unpin = await eventually(() => plannedFor('unpin'), 'the Job that unpins', 60_000);
    expect(unpin).toEqual({ MODE: 'unpin', PIN_FOR: metadata.uid });
    const before = node.registry.requests;
    const ended = await node.run(unpin, {});
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    expect(node.registry.requests).toBe(before);
    expect(await pins()).toEqual([]);
    const images = (await node.ctr('images', 'ls', '--quiet')).split('\n');
    expect(images).toEqual(expect.arrayContaining(Object.values(release.release.components)));
    hub.spokes.setFaults(SPOKE, {});
    await hub.untilClean([SPOKE]);
  });

  test('what docs/uninstalling.md runs removes the pins of every upgrade, without a hub', async () => {
    await using node = await startNode(release, { ...version, program: await version.program() });
    const pins = async () => (await node.ctr('images', 'ls', '--quiet')).split('\n').filter((name) => name.startsWith('precache.invalid/'));
    for (const uid of ['aa-1', 'bb-2']) expect((await node.run({ PIN_FOR: uid })).exitCode).toBe(PullerExit.done);
    const owners = new Set((await pins()).map((name) => name.split(':')[0]));
    expect(owners).toEqual(new Set(['precache.invalid/aa-1', 'precache.invalid/bb-2']));
    const ended = await node.run(await documentedUnpin(), {});
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    expect(await pins()).toEqual([]);
    expect((await node.ctr('images', 'ls', '--quiet')).split('\n')).toEqual(
      expect.arrayContaining(Object.values(release.release.components)),
    );
  });
});
