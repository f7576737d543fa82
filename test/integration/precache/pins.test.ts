import { Annotation, OWED_PINS } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { TRANSPORTS, testIn } from '../world.ts';
import { World } from './world.ts';

/** Pins are made where an upgrade asks for them, and go when it ends: at once, or when a spoke that was away is back. */

const PINS = { [Annotation.pins]: 'runtime' };
const SPOKES = ['here', 'away', 'plain', 'odd', 'shared'] as const;

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(() => World.start({ spokes: SPOKES, transport, nodes: 3, job: { seconds: 1, startupMs: 200 }, inMemory: true }));

  const jobs = (world: World, cluster: string) => world.spokes.jobsCreated(cluster).length;
  const marks = async (world: World, cluster: string) =>
    Object.keys((await world.client.get(ManagedCluster, { name: cluster }))?.metadata.annotations ?? {}).filter((key) =>
      key.startsWith(OWED_PINS),
    );
  /** Pre-caches with pins, and waits until nothing of it is left but the pins. */
  async function pinned(world: World, name: string, clusters: readonly string[]): Promise<string> {
    const { metadata } = await world.upgrade(name, clusters, {}, PINS);
    await world.untilStates(name, Object.fromEntries(clusters.map((cluster) => [cluster, 'Succeeded'])));
    await world.untilClean(clusters);
    for (const cluster of clusters) expect([...world.spokes.pins(cluster)], cluster).toEqual([metadata.uid]);
    return metadata.uid ?? '';
  }
  async function untilUnpinned(world: World, cluster: string): Promise<void> {
    await eventually(() => world.spokes.pins(cluster).size === 0, `the pins of ${cluster} to go`, 60_000);
    await eventually(async () => (await marks(world, cluster)).length === 0, `the mark of ${cluster} to go`, 60_000);
    await world.untilClean([cluster]);
    await eventually(() => !world.namespaceOn(cluster).exists(), `the namespace on ${cluster} to go`, 60_000);
  }

  test('pins go with the upgrade, also from a spoke that was away, and a deletion waits for neither', async ({ world }) => {
    const uid = await pinned(world, 'both', ['here', 'away']);
    expect((await world.get('both'))?.status?.precaching?.pins).toBe('runtime');
    await world.setAvailable('away', false);
    await world.delete('both');
    await eventually(async () => (await world.get('both')) === undefined, 'the upgrade to go', 30_000);
    await untilUnpinned(world, 'here');
    expect(await marks(world, 'away')).toEqual([`${OWED_PINS}${uid}`]);
    expect(await world.hubObjects('away')).toEqual([]);
    expect([...world.spokes.pins('away')]).toEqual([uid]);
    // The mark outlives the process too.
    await world.hub?.stop();
    await world.startHub();
    await world.setAvailable('away', true);
    await untilUnpinned(world, 'away');
    expect([jobs(world, 'here'), jobs(world, 'away')]).toEqual([2, 2]);
  });

  test('another upgrade has its turn before or after them, and keeps its own pins', async ({ world }) => {
    await pinned(world, 'first', ['shared']);
    const { metadata } = await world.upgrade('second', ['shared'], {}, PINS);
    await world.delete('first');
    await world.untilStates('second', { shared: 'Succeeded' });
    await eventually(() => world.spokes.pins('shared').size === 1, 'the pins of the first to go', 60_000);
    expect([...world.spokes.pins('shared')]).toEqual([metadata.uid]);
    await world.delete('second');
    await untilUnpinned(world, 'shared');
  });

  test('without the annotation nothing is pinned, and the end costs no job', async ({ world }) => {
    await world.upgrade('plain', ['plain']);
    await world.untilStates('plain', { plain: 'Succeeded' });
    await world.untilClean(['plain']);
    expect(world.spokes.pins('plain').size).toBe(0);
    expect((await world.get('plain'))?.status?.precaching).not.toHaveProperty('pins');
    await world.delete('plain');
    await eventually(async () => (await world.get('plain')) === undefined, 'the upgrade to go', 30_000);
    expect(await marks(world, 'plain')).toEqual([]);
    expect(jobs(world, 'plain')).toBe(1);
  });

  test('a value that is none is refused by name', async ({ world }) => {
    await world.upgrade('odd', ['odd'], {}, { [Annotation.pins]: 'true' });
    await world.untilCondition('odd', 'Validated', /^False InvalidPins: Annotation flotilla\.io\/pins is "true", which is not known/);
    expect(jobs(world, 'odd')).toBe(0);
  });
});
