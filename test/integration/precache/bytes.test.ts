import { ConfigMap } from '@flotilla/api/core';
import { ManifestWork } from '@flotilla/api/ocm';
import { FleetLimitsName, SpokeName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { spokeNames, testIn } from '../world.ts';
import { World } from './world.ts';

/** Bytes a second of the fleet, handed out to pullers that run. */

const MB = 1_000_000;
const LIMITS = { namespace: 'default', name: FleetLimitsName.configMap };
const names = spokeNames(3);

const start = (transport: 'work' | 'actions') =>
  testIn(() => World.start({ spokes: names, transport, job: { seconds: 600, startupMs: 200 }, inMemory: true, withoutHub: true }));

/** Caps in the ConfigMaps on the spokes; undefined where there is no such object, and `none` where it has none. */
const capsOn = (world: World): (string | undefined)[] =>
  names.map((name) => {
    const object = world.readOn(name, 'ConfigMap', SpokeName.specConfigMap);
    return object && String(Object(object.data).bandwidth ?? 'none');
  });
const untilCaps = (world: World, want: readonly (number | 'none' | undefined)[], timeoutMs = 60_000) =>
  eventually(
    () => String(capsOn(world)) === String(want),
    () => `the caps to be ${String(want)}, not ${String(capsOn(world))}`,
    timeoutMs,
  );
const jobUids = (world: World) => names.map((name) => Object(world.readOn(name, 'Job', SpokeName.job)?.metadata).uid);

start('work')('caps follow limits and those that pull, in works that keep their jobs', async ({ world }) => {
  const say = (text: string) => world.client.patch(ConfigMap, LIMITS, { data: { [FleetLimitsName.key]: text } }, { type: 'merge' });
  await world.client.create(ConfigMap, { metadata: LIMITS, data: { [FleetLimitsName.key]: `bytesPerSecond: ${6 * MB}\n` } });
  await world.startHub();
  await world.upgrade('first', names.slice(0, 2));
  await world.untilStates('first', { [names[0] ?? '']: 'Active', [names[1] ?? '']: 'Active' });
  await untilCaps(world, [3 * MB, 3 * MB, undefined]);
  const jobs = jobUids(world).slice(0, 2);
  // Those that run give up a part once they have had theirs for a minute; until then a newcomer has the least.
  await world.upgrade('second', names.slice(2));
  await untilCaps(world, [2 * MB, 2 * MB, 2 * MB]);
  await say(`bytesPerSecond: ${3 * MB}\n`);
  await untilCaps(world, [MB, MB, MB]);
  await say('pulling: 9\n');
  await untilCaps(world, ['none', 'none', 'none']);
  expect(jobs).toEqual([expect.any(String), expect.any(String)]);
  expect(jobUids(world).slice(0, 2)).toEqual(jobs);
  for (const name of names) {
    expect(world.spokes.jobsCreated(name)).toHaveLength(1);
    const work = await world.client.get(ManifestWork, { namespace: name, name: 'precache-work' });
    expect(work?.metadata.annotations?.['flotilla.io/cap']).toBeUndefined();
  }
  // Three changes and its beginning.
  expect((await world.client.get(ManifestWork, { namespace: names[0] ?? '', name: 'precache-work' }))?.metadata.generation).toBe(4);
});

start('actions')('by actions a puller has the cap of its beginning', async ({ world }) => {
  await world.client.create(ConfigMap, { metadata: LIMITS, data: { [FleetLimitsName.key]: `bytesPerSecond: ${6 * MB}\n` } });
  await world.startHub();
  await world.upgrade('first', names.slice(0, 2));
  await untilCaps(world, [3 * MB, 3 * MB, undefined]);
  await world.upgrade('second', names.slice(2));
  await untilCaps(world, [3 * MB, 3 * MB, 16_384]);
});
