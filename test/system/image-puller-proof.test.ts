import { join } from 'node:path';
import { PullerExit } from '@flotilla/api/ran';
import { createRandom } from '@flotilla/control-plane/simulators';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { canRunContainerd, startNode, VERSIONS } from './containerd-node.ts';
import { losses } from './image-losses.ts';
import { type PullerWorld, startPullerWorld, temporaryFolder } from './image-puller-fixture.ts';

/** A proof asks no registry, finds what the runtime has lost, and the next pull brings it back. */

let world: PullerWorld;
beforeAll(async () => {
  world = await startPullerWorld('puller-proof', [300_000, 400_000, 500_000, 600_000]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Losses of the sweep; FLOTILLA_PROOF_LOSSES=100 is the long form. */
const { FLOTILLA_PROOF_LOSSES: LOSSES, FLOTILLA_PROOF_SEED: SEED } = z
  .object({
    FLOTILLA_PROOF_LOSSES: z.coerce.number().int().min(1).default(5),
    FLOTILLA_PROOF_SEED: z.coerce.number().int().default(20_261_125),
  })
  .parse(process.env);

describe.skipIf(!canRunContainerd).each(VERSIONS)('with containerd $version', ({ program, snapshotter, knowsPins }) => {
  const options = { program: '', snapshotter };
  beforeAll(async () => {
    options.program = await program();
  }, 600_000);

  test('what is lost is found without a registry and pulled again', { timeout: 300_000 + LOSSES * 10_000 }, async () => {
    await using node = await startNode(world, options);
    await using records = await temporaryFolder('records');
    const env = { RECORD_DIR: join(records.path, 'precache'), NODE_NAME: 'node-1' };
    const prove = async () => {
      const before = node.registry.requests;
      const run = await node.run({ ...env, MODE: 'prove' });
      expect(node.registry.requests, run.log).toBe(before);
      return run;
    };
    const unknown = await prove();
    expect(unknown.exitCode, unknown.log).toBe(PullerExit.missing);
    expect(unknown.last.message).toBe('nothing is recorded as cached on this node; pull again');
    const pulled = await node.run(env);
    expect(pulled.exitCode, pulled.log).toBe(PullerExit.done);
    const proven = await prove();
    expect(proven.exitCode, proven.log).toBe(PullerExit.done);
    expect(proven.last).toMatchObject({ node: 'node-1', imagesDone: pulled.last.imagesTotal, imagesTotal: pulled.last.imagesTotal });

    const random = createRandom(SEED);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const names = Object.keys(world.release.components).filter((name) => name !== 'component-0' && name !== 'component-alias');
    for (let count = 0; count < LOSSES; count++) {
      const [what, pullSpec] = [pick(Object.keys(losses)), world.release.components[pick(names)] ?? ''];
      await losses[what]?.(node, pullSpec);
      const found = await prove();
      expect(found.exitCode, `${count}: ${what} of ${pullSpec}\n${found.log}`).toBe(PullerExit.missing);
      expect(found.last.failures.map(({ image }) => image)).toEqual([pullSpec]);
      const again = await node.run(env);
      expect(again.exitCode, `${count}: ${what} of ${pullSpec}\n${again.log}`).toBe(PullerExit.done);
      const whole = await prove();
      expect(whole.exitCode, `${count}: ${what} of ${pullSpec}\n${whole.log}`).toBe(PullerExit.done);
    }
  });

  test('pins are counted when the runtime says so, outlive a pull, and go by the uid of their upgrade', async () => {
    await using node = await startNode(world, options);
    const [mine, other] = ['11111111-aaaa-4bbb-8ccc-000000000001', '22222222-aaaa-4bbb-8ccc-000000000002'];
    const pinsOf = async (uid: string) =>
      (await node.ctr('images', 'ls', '--quiet')).split('\n').filter((name) => name.includes(uid)).length;
    const pulled = await node.run({ PIN_FOR: mine });
    expect(pulled.exitCode, pulled.log).toBe(PullerExit.done);
    const names = Object.keys(world.release.components).length + 3;
    if (!knowsPins) {
      // Without pins there is headroom alone, which the report says.
      expect(pulled.last).toMatchObject({ namesPinned: 0, risks: [{ name: 'pins', value: expect.stringContaining('pins nothing') }] });
      expect(await pinsOf(mine)).toBe(0);
      return;
    }
    expect(pulled.last.namesPinned).toBe(names);
    expect(pulled.last).not.toHaveProperty('risks');
    // Two names of one image share a pin.
    expect(await pinsOf(mine)).toBe(names - 1);
    const again = await node.run({ PIN_FOR: other });
    expect(again.last.namesPinned, again.log).toBe(names);
    const unpinned = await node.run({ MODE: 'unpin', PIN_FOR: mine });
    expect(unpinned.exitCode, unpinned.log).toBe(PullerExit.done);
    expect([await pinsOf(mine), await pinsOf(other)]).toEqual([0, names - 1]);
    await node.run({ MODE: 'unpin', PIN_FOR: other });
    const images = (await node.ctr('images', 'ls', '--quiet')).split('\n');
    expect(images).toEqual(expect.arrayContaining([...Object.values(world.release.components), world.release.operator]));
    expect(images.filter((name) => name.startsWith('precache.invalid'))).toEqual([]);
  });
});
