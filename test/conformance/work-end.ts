import { ConfigMap } from '@flotilla/api/core';
import { ManifestWork } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import type { Extent } from './extent.ts';
import { SPOKE_NAMESPACE, soon } from './transport-driver.ts';
import { configOf, manifest, type WorkDriver } from './work-driver.ts';

/** What becomes of the objects of a work that ends, or no longer names them (spec/ocm 4.1, 4.3). */
export function endTests(get: () => WorkDriver, extent: Extent): void {
  test('what the work created goes with it, what it found stays', async () => {
    const driver = get();
    const [created, found] = [driver.name('cm'), driver.name('cm')];
    await driver.subject.spoke.create(ConfigMap, manifest(found, { b: 'theirs' }));
    const name = await driver.work([manifest(created), manifest(found)]);
    await driver.applied(name);
    await driver.end(name);
    expect(await driver.onSpoke(created)).toBeUndefined();
    // Its data is the work's as long as the work names it, as a whole.
    expect(await driver.dataOf(found)).toEqual({ a: '1' });
    expect((await driver.onSpoke(found))?.metadata.annotations ?? {}).toEqual({});
  });

  test('a manifest that leaves the work takes its object along', async () => {
    const driver = get();
    const [kept, removed, found] = [driver.name('cm'), driver.name('cm'), driver.name('cm')];
    await driver.subject.spoke.create(ConfigMap, manifest(found, { b: 'theirs' }));
    const name = await driver.work([manifest(removed), manifest(found), manifest(kept)]);
    await driver.applied(name);
    await driver.edit(name, { workload: { manifests: [manifest(kept)] } });
    await soon(async () => expect(await driver.onSpoke(removed)).toBeUndefined());
    await driver.applied(name);
    expect((await driver.read(name)).status?.resourceStatus?.manifests).toMatchObject([{ resourceMeta: { ordinal: 0, name: kept } }]);
    expect(await driver.dataOf(found)).toEqual({ a: '1' });
    expect(await driver.dataOf(kept)).toEqual({ a: '1' });
  });

  test('an agent that comes back applies what was edited, ends what was deleted, and writes nothing about the rest', async () => {
    const driver = get();
    const [edited, deleted, quiet] = [driver.name('cm'), driver.name('cm'), driver.name('cm')];
    const [edit, end, rest] = [
      await driver.work([manifest(edited)]),
      await driver.work([manifest(deleted)]),
      await driver.work([manifest(quiet)]),
    ];
    for (const name of [edit, end, rest]) await driver.settled(name, 'Available', 'True');
    const before = (await driver.read(rest)).metadata.resourceVersion;
    await driver.subject.stopAgent();
    await driver.edit(edit, { workload: { manifests: [manifest(edited, { a: 'later' })] } });
    await driver.subject.hub.delete(ManifestWork, driver.ref(end));
    // What the status says is about generation 1 still: a reader can see that it is old.
    expect((await driver.read(edit)).metadata.generation).toBe(2);
    expect(await driver.condition(edit, 'Applied')).toMatchObject({ status: 'True', observedGeneration: 1 });
    expect((await driver.read(end)).metadata.deletionTimestamp).toBeDefined();
    expect(await driver.onSpoke(deleted)).toBeDefined();

    await driver.subject.startAgent();
    await driver.applied(edit);
    expect(await driver.dataOf(edited)).toEqual({ a: 'later' });
    await soon(async () => expect(await driver.subject.hub.get(ManifestWork, driver.ref(end))).toBeUndefined());
    expect(await driver.onSpoke(deleted)).toBeUndefined();
    // Its drift is repaired, so the agent has looked at it.
    await driver.subject.spoke.patch(ConfigMap, { namespace: SPOKE_NAMESPACE, name: quiet }, { data: { a: 'drifted' } });
    await soon(async () => expect(await driver.dataOf(quiet)).toEqual({ a: '1' }));
    expect((await driver.read(rest)).metadata.resourceVersion).toBe(before);
  });

  if (extent === 'short') return;
  test('a work that went while the agent was away, without its finalizer, is ended after a grace', async () => {
    const driver = get();
    const [created, found] = [driver.name('cm'), driver.name('cm')];
    await driver.subject.spoke.create(ConfigMap, manifest(found, { b: 'theirs' }));
    const name = await driver.work([manifest(created), manifest(found)]);
    await driver.applied(name);
    await driver.subject.stopAgent();
    await driver.subject.hub.patch(ManifestWork, driver.ref(name), { metadata: { finalizers: [] } }, { type: 'merge' });
    await driver.end(name);
    expect(await driver.dataOf(created)).toEqual({ a: '1' });
    await driver.subject.startAgent();
    await soon(async () => expect(await driver.onSpoke(created)).toBeUndefined());
    await soon(async () => expect((await driver.onSpoke(found))?.metadata.annotations ?? {}).toEqual({}));
    expect(await driver.dataOf(found)).toEqual({ a: '1' });
  });

  test('Orphan leaves every object, also for a later work of the same name', async () => {
    const driver = get();
    const object = driver.name('cm');
    const name = await driver.work([manifest(object)], { deleteOption: { propagationPolicy: 'Orphan' } });
    await driver.applied(name);
    await driver.end(name);
    expect(await driver.dataOf(object)).toEqual({ a: '1' });
    await driver.subject.hub.create(ManifestWork, {
      apiVersion: ManifestWork.apiVersion,
      kind: ManifestWork.kind,
      metadata: driver.ref(name),
      spec: { workload: { manifests: [manifest(object, { a: '2' })] } },
    });
    await driver.applied(name);
    await driver.end(name);
    expect(await driver.dataOf(object)).toEqual({ a: '2' });
  });

  test('SelectivelyOrphan leaves the objects its rules name', async () => {
    const driver = get();
    const [kept, removed] = [driver.name('cm'), driver.name('cm')];
    const { resourceIdentifier } = configOf(kept, {});
    const deleteOption = { propagationPolicy: 'SelectivelyOrphan', selectivelyOrphans: { orphaningRules: [resourceIdentifier] } };
    const name = await driver.work([manifest(kept), manifest(removed)], { deleteOption });
    await driver.applied(name);
    await driver.end(name);
    expect(await driver.dataOf(kept)).toEqual({ a: '1' });
    expect(await driver.onSpoke(removed)).toBeUndefined();
  });

  test('an object that two works hold goes with the last of them, and neither takes the other its labels', async () => {
    const driver = get();
    const object = driver.name('cm');
    const first = await driver.work([manifest(object, { a: '1' }, { labels: { first: 'yes' } })]);
    await driver.applied(first);
    const second = await driver.work([manifest(object, { a: '1' }, { labels: { second: 'yes' } })]);
    await driver.applied(second);
    expect((await driver.onSpoke(object))?.metadata.labels).toEqual({ first: 'yes', second: 'yes' });
    await driver.end(first);
    expect(await driver.dataOf(object)).toEqual({ a: '1' });
    await driver.end(second);
    expect(await driver.onSpoke(object)).toBeUndefined();
  });

  test('a work waits for an object that does not go, says so, and applies nothing any more', async () => {
    const driver = get();
    const object = driver.name('cm');
    const ref = { namespace: SPOKE_NAMESPACE, name: object };
    const name = await driver.work([manifest(object)]);
    await driver.applied(name);
    await driver.subject.spoke.patch(ConfigMap, ref, { metadata: { finalizers: ['example.com/hold'] } });
    await driver.subject.hub.delete(ManifestWork, driver.ref(name));
    await soon(async () =>
      expect(await driver.condition(name, 'Deleting')).toMatchObject({ status: 'True', message: expect.stringContaining(object) }),
    );
    await driver.subject.spoke.patch(ConfigMap, ref, { metadata: { finalizers: null } });
    await soon(async () => expect(await driver.subject.hub.get(ManifestWork, driver.ref(name))).toBeUndefined());
    expect(await driver.onSpoke(object)).toBeUndefined();
  });
}
