import { ClusterVersion } from '@flotilla/api/config';
import { Namespace } from '@flotilla/api/core';
import { FileIntegrity, MachineSet } from '@flotilla/api/machine';
import { UpgradeConfig } from '@flotilla/api/managed';
import { clearCluster, createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { systemClock } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { upgraders } from '@flotilla/upgrade';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryWorld } from '../testing/memory-world.ts';
import { CASE_REF, createUpgrade, memoryCluster, readEntry, startOperator } from '../testing/operator-case.ts';

const TARGET = '4.14.12';
const INTEGRITY = { namespace: 'openshift-file-integrity', name: 'osd-fileintegrity' };

let client: Client;
beforeAll(async () => {
  client = memoryCluster(systemClock).client();
  await client.create(Namespace, { metadata: { name: INTEGRITY.namespace } });
});
afterAll(async () => {
  await client?.close();
});

/** Collects the extra machine sets and the desired versions that watches have shown. */
function remember(signal: AbortSignal) {
  const surgeSets = new Set<string>();
  const desired: string[] = [];
  const sets = new WatchCache(client, MachineSet);
  const versions = new WatchCache(client, ClusterVersion);
  sets.subscribe(({ object }) => {
    if (object.metadata.name.endsWith('-upgrade')) surgeSets.add(object.metadata.uid ?? '');
  });
  versions.subscribe(({ object, previous }) => {
    const [is, was] = [object.spec.desiredUpdate?.version, previous?.spec.desiredUpdate?.version];
    if (is !== undefined && is !== was) desired.push(is);
  });
  for (const cache of [sets, versions]) cache.start(signal);
  return { surgeSets, desired };
}

// Each dies in the first look at its step, after what the step does there and before anybody knows of it; another process goes on.
test.each(upgraders.OSD.steps.map((step) => ({ step })))(
  'killed in $step: the next one goes on, and repeats no effect',
  async ({ step }) => {
    const world = new MemoryWorld();
    world.config = { ...world.config, environment: { fedramp: true } };
    const watching = new AbortController();
    await createSmallCluster(client);
    await client.create(FileIntegrity, { metadata: INTEGRITY });
    const seen = remember(watching.signal);
    await using _actors = await startClusterActors({
      client,
      offers: { 'stable-4.14': [TARGET] },
      pace: { controlPlaneMs: 100, machineMs: 50, nodeMs: 50 },
    });
    try {
      const death = Promise.withResolvers<void>();
      const first = startOperator(client, world, { diesIn: { step, died: death.resolve } });
      await createUpgrade(client, { capacityReservation: true });
      await death.promise;
      await first.stop();
      const second = startOperator(client, world);
      await eventually(async () => (await readEntry(client))?.phase === 'Upgraded', 'the upgrade', 60_000);
      await second.stop();

      const entry = await readEntry(client);
      expect(entry?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
      expect(entry?.notifications?.filter(({ time }) => time === undefined)).toEqual([]);
      expect(seen.desired).toEqual([TARGET]);
      expect(seen.surgeSets.size).toBe(1);
      expect(world.told).toEqual([...new Set(world.told)]);
      expect(world.told.at(-1)).toBe('StateCompleted');
      expect(world.silences.map(({ plane, about }) => `${plane} ${about}`)).toEqual([
        ...new Set(world.silences.map(({ plane, about }) => `${plane} ${about}`)),
      ]);
      expect(world.silences.filter(({ active }) => active)).toEqual([]);
      expect((await client.get(FileIntegrity, INTEGRITY))?.metadata.annotations).toHaveProperty('file-integrity.openshift.io/re-init');
    } finally {
      watching.abort();
      await client.delete(UpgradeConfig, CASE_REF);
      await client.delete(FileIntegrity, INTEGRITY);
      await clearCluster(client);
    }
  },
);
