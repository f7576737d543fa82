import { untyped } from '@flotilla/api';
import { ConfigMap, Namespace, RoleBinding, ServiceAccount } from '@flotilla/api/core';
import { WORK_FINALIZER } from '@flotilla/api/ocm';
import { SpokeName } from '@flotilla/api/ran';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { expect, test } from 'vitest';
import { precachePod } from '../fixtures/precache-pod.ts';
import type { Extent } from './extent.ts';
import { SPOKE_NAMESPACE, soon, Widget, widget } from './transport-driver.ts';
import { configOf, manifest, type WorkDriver } from './work-driver.ts';

const FOREIGN = { a: 'foreign', b: 'foreign' };

/** Manifests that cannot be applied, and what their condition says of them. */
const REFUSALS = [
  {
    name: 'a kind that the spoke does not serve',
    manifest: { apiVersion: 'foo.io/v1', kind: 'Foo', metadata: { name: 'x' } },
    says: 'no matches for kind "Foo" in version "foo.io/v1"',
  },
  { name: 'a namespaced kind without a namespace', manifest: manifest('x', {}, { namespace: undefined }), says: 'namespace must be set' },
  { name: 'a namespace that is not there', manifest: manifest('x', {}, { namespace: 'nope' }), says: 'namespaces "nope" not found' },
  {
    name: 'an object without a name',
    manifest: manifest('', {}, { generateName: 'x-' }),
    says: 'metadata.name is required and metadata.generateName forbidden',
  },
];

/** How manifests reach the spoke and are kept there (spec/ocm 4.1 to 4.3). */
export function applyTests(get: () => WorkDriver, extent: Extent): void {
  test('Job pre-cache finds its account made, with the rights that the spoke has for it', async () => {
    const driver = get();
    const { namespace, job, serviceAccount, pullerBinding } = SpokeName;
    const metadata = { name: job, namespace };
    const name = await driver.work(
      [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
        { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template: { spec: precachePod('registry.example/puller:1') } } },
      ],
      {
        manifestConfigs: [
          { resourceIdentifier: { group: 'batch', resource: 'jobs', ...metadata }, updateStrategy: { type: 'CreateOnly' } },
        ],
      },
    );
    await driver.applied(name);
    expect(await driver.subject.spoke.get(ServiceAccount, { namespace, name: serviceAccount })).toBeDefined();
    expect(await driver.subject.spoke.get(RoleBinding, { namespace, name: pullerBinding })).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'puller' },
      subjects: [{ kind: 'ServiceAccount', name: serviceAccount, namespace }],
    });
    await driver.end(name);
    await soon(async () => expect(await driver.subject.spoke.get(Namespace, { name: namespace })).toBeUndefined());
  });

  test('a work is applied and says so of itself and of each manifest, ordinal 0 included', async () => {
    const driver = get();
    const [first, second] = [driver.name('cm'), driver.name('widget')];
    const name = await driver.work([manifest(first), widget(second)]);
    await soon(async () => expect(await driver.dataOf(first)).toEqual({ a: '1' }));
    await driver.applied(name);
    const { metadata, status } = await driver.read(name);
    expect(metadata.finalizers).toContain(WORK_FINALIZER);
    expect(status?.conditions).toMatchObject([
      {
        type: 'Applied',
        status: 'True',
        reason: 'AppliedManifestWorkComplete',
        message: 'Apply manifest work complete',
        observedGeneration: 1,
      },
      { type: 'Available', status: 'True', reason: 'ResourcesAvailable', message: 'All resources are available', observedGeneration: 1 },
    ]);
    const conditions = [
      { type: 'Applied', status: 'True', reason: 'AppliedManifestComplete' },
      { type: 'Available', status: 'True', reason: 'ResourceAvailable' },
      { type: 'StatusFeedbackSynced', status: 'True', reason: 'NoStatusFeedbackSynced' },
    ];
    const where = { namespace: SPOKE_NAMESPACE };
    expect(status?.resourceStatus?.manifests).toMatchObject([
      {
        resourceMeta: { ordinal: 0, group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', name: first, ...where },
        conditions,
      },
      { resourceMeta: { ordinal: 1, group: 'example.com', kind: 'Widget', resource: 'widgets', name: second, ...where }, conditions },
    ]);
  });

  test.each(REFUSALS)('$name is refused by itself and holds up no other', async ({ manifest: bad, says }) => {
    const driver = get();
    const good = driver.name('cm');
    const name = await driver.work([bad, manifest(good)]);
    expect(await driver.settled(name, 'Applied', 'False')).toMatchObject({
      reason: 'AppliedManifestWorkFailed',
      message: 'Failed to apply manifest work',
    });
    expect(await driver.dataOf(good)).toEqual({ a: '1' });
    const refused = await driver.manifestCondition(name, 'Applied', 0);
    expect(refused).toMatchObject({ status: 'False', reason: 'AppliedManifestFailed' });
    expect(refused.message).toContain(says);
    expect(await driver.manifestCondition(name, 'Applied', 1)).toMatchObject({ status: 'True' });
    expect((await driver.condition(name, 'Available'))?.status).not.toBe('True');
  });

  test('drift is repaired, and an object that was deleted comes back', async () => {
    const driver = get();
    const [changed, deleted] = [driver.name('cm'), driver.name('cm')];
    const name = await driver.work([manifest(changed), manifest(deleted)]);
    await driver.applied(name);
    await driver.subject.spoke.patch(ConfigMap, { namespace: SPOKE_NAMESPACE, name: changed }, { data: { a: 'drifted' } });
    await driver.subject.spoke.delete(ConfigMap, { namespace: SPOKE_NAMESPACE, name: deleted });
    await driver.settled(name, 'Available', 'False');
    await soon(async () => expect(await driver.dataOf(changed)).toEqual({ a: '1' }));
    await soon(async () => expect(await driver.dataOf(deleted)).toEqual({ a: '1' }));
    await driver.settled(name, 'Available', 'True');
  });

  test('while nothing changes nothing is written, through several reads and repairs', async () => {
    const driver = get();
    const [object, witness] = [driver.name('cm'), driver.name('cm')];
    const name = await driver.work([manifest(object)]);
    await driver.settled(name, 'Available', 'True');
    const before = await driver.read(name);
    const onSpoke = (await driver.onSpoke(object))?.metadata.resourceVersion;
    // A second work whose drift is repaired twice shows that time went by for the first one too.
    await driver.applied(await driver.work([manifest(witness)]));
    for (const round of ['first', 'second']) {
      await driver.subject.spoke.patch(ConfigMap, { namespace: SPOKE_NAMESPACE, name: witness }, { data: { a: round } });
      await soon(async () => expect(await driver.dataOf(witness)).toEqual({ a: '1' }));
    }
    expect((await driver.read(name)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    expect((await driver.onSpoke(object))?.metadata.resourceVersion).toBe(onSpoke);
  });

  test('* in an identifier means every name: what is there is neither changed nor made', async () => {
    const driver = get();
    const [there, missing] = [driver.name('cm'), driver.name('cm')];
    await driver.subject.spoke.create(ConfigMap, manifest(there, FOREIGN));
    const createOnly = [configOf('*', { updateStrategy: { type: 'CreateOnly' } })];
    await driver.applied(await driver.work([manifest(there), manifest(missing)], { manifestConfigs: createOnly }));
    expect([await driver.dataOf(there), await driver.dataOf(missing)]).toEqual([FOREIGN, { a: '1' }]);
    const never = driver.name('cm');
    const manifestConfigs = [configOf('*', { updateStrategy: { type: 'ReadOnly' } })];
    const readOnly = await driver.work([manifest(never)], { manifestConfigs });
    await driver.settled(readOnly, 'Available', 'False');
    expect(await driver.onSpoke(never)).toBeUndefined();
  });

  test('an integer that no double holds arrives as it is, drift to its neighbour is seen, and it is read back', async () => {
    const driver = get();
    const object = driver.name('widget');
    const ref = { namespace: SPOKE_NAMESPACE, name: object };
    const serial = 9007199254740993n;
    const bigger = { ...widget(object), spec: { serial } };
    const identifier = { group: 'example.com', resource: 'widgets', ...ref };
    const feedbackRules = [{ type: 'JSONPaths', jsonPaths: [{ name: 'serial', path: '.spec.serial' }] }];
    const name = await driver.work([bigger], { manifestConfigs: [{ resourceIdentifier: identifier, feedbackRules }] });
    await driver.applied(name);
    const serialOf = async () => Object(Object(await driver.subject.spoke.get(Widget, ref)).spec).serial;
    expect(await serialOf()).toBe(serial);
    await soon(async () => expect(await driver.feedback(name)).toEqual({ serial }));
    await driver.subject.spoke.patch(Widget, ref, { spec: { serial: serial + 1n } });
    await soon(async () => expect(await serialOf()).toBe(serial));
  });

  if (extent === 'short') return;
  test('an option that is not understood refuses its manifest', async () => {
    const driver = get();
    const [bad, good] = [driver.name('bad'), driver.name('cm')];
    const conditionRules = [{ condition: 'Complete', type: 'WellKnownConditions' }];
    const name = await driver.work([manifest(bad), manifest(good)], { manifestConfigs: [configOf('bad-*', { conditionRules })] });
    await driver.settled(name, 'Applied', 'False');
    expect((await driver.manifestCondition(name, 'Applied')).message).toContain('manifestConfigs[0].conditionRules are not supported');
    expect([await driver.onSpoke(bad), await driver.dataOf(good)]).toEqual([undefined, { a: '1' }]);
  });

  test('a work is applied within a second: the best of three, because the machine may be busy', async () => {
    const driver = get();
    const took: number[] = [];
    for (const object of [driver.name('cm'), driver.name('cm'), driver.name('cm')]) {
      const startedAt = Date.now();
      await driver.work([manifest(object)]);
      await soon(async () => expect(await driver.onSpoke(object)).toBeDefined());
      took.push(Date.now() - startedAt);
    }
    expect(Math.min(...took)).toBeLessThan(1000);
  });

  test('a manifest of an unknown kind leaves one of two resources with unknown status', async () => {
    const driver = get();
    const name = await driver.work([{ apiVersion: 'foo.io/v1', kind: 'Foo', metadata: { name: 'x' } }, manifest(driver.name('cm'))]);
    expect(await driver.settled(name, 'Available', 'Unknown')).toMatchObject({
      reason: 'ResourcesStatusUnknown',
      message: '1 of 2 resources have unknown status',
    });
    expect(await driver.manifestCondition(name, 'Available', 0)).toMatchObject({ reason: 'IncompleteResourceMeta' });
  });

  test('an object that is named twice is refused the second time', async () => {
    const driver = get();
    const object = driver.name('cm');
    const name = await driver.work([manifest(object, { a: 'first' }), manifest(object, { a: 'second' })]);
    await driver.settled(name, 'Applied', 'False');
    expect((await driver.manifestCondition(name, 'Applied', 1)).message).toContain('which an earlier manifest has');
    expect(await driver.dataOf(object)).toEqual({ a: 'first' });
  });

  test('what a manifest waits for is enough once it is there', async () => {
    const driver = get();
    const namespace = driver.name('late');
    const name = await driver.work([manifest('cm', { a: '1' }, { namespace })]);
    await driver.settled(name, 'Applied', 'False');
    await driver.subject.spoke.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await driver.applied(name);
    expect(await driver.subject.spoke.get(ConfigMap, { namespace, name: 'cm' })).toMatchObject({ data: { a: '1' } });
  });

  test('an executor is refused, not ignored', async () => {
    const driver = get();
    const object = driver.name('cm');
    const subject = { type: 'ServiceAccount', serviceAccount: { namespace: 'default', name: 'default' } };
    const name = await driver.work([manifest(object)], { executor: { subject } });
    await driver.settled(name, 'Applied', 'False');
    expect((await driver.manifestCondition(name, 'Applied')).message).toContain('spec.executor.subject is not supported');
    expect(await driver.onSpoke(object)).toBeUndefined();
  });

  test('more than 500 KiB of manifests are refused', async () => {
    const driver = get();
    const [first, second] = [driver.name('cm'), driver.name('cm')];
    // Two bytes each.
    const big = { text: 'ü'.repeat(150_000) };
    const name = await driver.work([manifest(first, big), manifest(second, big)]);
    await driver.settled(name, 'Applied', 'False');
    expect((await driver.manifestCondition(name, 'Applied', 1)).message).toMatch(/take 600\d+ bytes, more than the 512000 allowed/);
    expect(await driver.onSpoke(first)).toBeUndefined();
  });

  test("Update makes the fields that the manifest has the manifest's, and leaves what others say elsewhere", async () => {
    const driver = get();
    const object = driver.name('cm');
    const name = await driver.work([manifest(object, { a: '1', b: '1' }, { labels: { mine: 'yes' } })]);
    await driver.applied(name);
    const theirs = { data: { theirs: 'yes' }, metadata: { labels: { theirs: 'yes' } }, immutable: false };
    await driver.subject.spoke.patch(ConfigMap, { namespace: SPOKE_NAMESPACE, name: object }, theirs);
    await driver.edit(name, { workload: { manifests: [manifest(object, { a: '2' }, { labels: { mine: 'yes' } })] } });
    await driver.applied(name);
    expect(await driver.dataOf(object)).toEqual({ a: '2' });
    expect(await driver.condition(name, 'Available')).toMatchObject({ status: 'True', observedGeneration: 2 });
    expect(await driver.onSpoke(object)).toMatchObject({ immutable: false, metadata: { labels: { mine: 'yes', theirs: 'yes' } } });
  });

  test('Update takes over an object that is there', async () => {
    const driver = get();
    const object = driver.name('cm');
    await driver.subject.spoke.create(ConfigMap, manifest(object, FOREIGN));
    await driver.applied(await driver.work([manifest(object, { a: 'ours' })]));
    expect(await driver.dataOf(object)).toEqual({ a: 'ours' });
  });

  test('Update wins over the other member of a union and over defaults, and takes what an update takes', async () => {
    const driver = get();
    const name = driver.name('web');
    const labels = { app: name };
    const deployment = (strategy: object, pod: object, container: object) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: SPOKE_NAMESPACE },
      spec: {
        replicas: 0,
        strategy,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { ...pod, containers: [{ name: 'c', image: 'i:1', ...container }] } },
      },
    });
    const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] });
    const theirs = deployment({ type: 'RollingUpdate' }, volume({ emptyDir: {} }), { env: [{ name: 'A', value: '1' }] });
    const kind = untyped('apps/v1', 'Deployment', 'deployments');
    await driver.subject.spoke.create(kind, theirs);
    const env = [
      { name: 'A', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'B', value: '1' },
      { name: 'B', value: '2' },
    ];
    const work = await driver.work([deployment({ type: 'Recreate' }, volume({ hostPath: { path: '/data', type: '' } }), { env })]);
    await driver.applied(work);
    const stored = await driver.subject.spoke.get(kind, { namespace: SPOKE_NAMESPACE, name });
    const { strategy, template } = Object(stored).spec;
    expect([strategy, template.spec.volumes, template.spec.containers[0].env]).toEqual([
      { type: 'Recreate' },
      [{ name: 'v', hostPath: { path: '/data', type: '' } }],
      env,
    ]);
  });

  test('a kind without namespaces takes a manifest that has one', async () => {
    const driver = get();
    const name = driver.name('ns');
    const work = await driver.work([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, namespace: SPOKE_NAMESPACE } }]);
    await driver.applied(work);
    expect(await driver.subject.spoke.get(Namespace, { name })).toBeDefined();
  });

  test('CreateOnly creates, and never changes what is there', async () => {
    const driver = get();
    const [there, missing] = [driver.name('cm'), driver.name('cm')];
    await driver.subject.spoke.create(ConfigMap, manifest(there, FOREIGN));
    const manifestConfigs = [there, missing].map((object) => configOf(object, { updateStrategy: { type: 'CreateOnly' } }));
    const name = await driver.work([manifest(there), manifest(missing)], { manifestConfigs });
    await driver.applied(name);
    expect(await driver.onSpoke(there)).toMatchObject({ data: FOREIGN });
    expect((await driver.onSpoke(there))?.metadata.annotations).toBeUndefined();
    expect(await driver.dataOf(missing)).toEqual({ a: '1' });
    await driver.edit(name, { workload: { manifests: [manifest(there), manifest(missing, { a: '2' })] } });
    await driver.applied(name);
    expect(await driver.dataOf(missing)).toEqual({ a: '1' });
  });

  test('ReadOnly applies nothing and says whether the object is there', async () => {
    const driver = get();
    const object = driver.name('cm');
    const manifestConfigs = [configOf(object, { updateStrategy: { type: 'ReadOnly' } })];
    const name = await driver.work([manifest(object)], { manifestConfigs });
    expect(await driver.settled(name, 'Available', 'False')).toMatchObject({
      reason: 'ResourcesNotAvailable',
      message: '1 of 1 resources are not available',
    });
    expect(await driver.onSpoke(object)).toBeUndefined();
    await driver.subject.spoke.create(ConfigMap, manifest(object, FOREIGN));
    await driver.settled(name, 'Available', 'True');
    expect(await driver.dataOf(object)).toEqual(FOREIGN);
  });

  test('ServerSideApply names a conflict, and wins it when it is forced', async () => {
    const driver = get();
    const object = driver.name('cm');
    await driver.subject.spoke.create(ConfigMap, manifest(object, FOREIGN));
    const strategy = (force: boolean) => ({
      manifestConfigs: [configOf(object, { updateStrategy: { type: 'ServerSideApply', serverSideApply: { force } } })],
    });
    const name = await driver.work([manifest(object, { a: 'ours' })], strategy(false));
    await driver.settled(name, 'Applied', 'False');
    expect((await driver.manifestCondition(name, 'Applied')).message).toMatch(/conflict.*\.data\.a/);
    expect(await driver.dataOf(object)).toEqual(FOREIGN);
    await driver.edit(name, strategy(true));
    await driver.applied(name);
    expect(await driver.dataOf(object)).toEqual({ a: 'ours', b: 'foreign' });
  });

  test('a definition and an object of its kind may come in one work', async () => {
    const driver = get();
    const kind = driver.name('gadget').replace('-', '');
    const group = 'late.example.com';
    const definition = buildOpenDefinition({ group, kind, plural: `${kind}s` });
    const object = { apiVersion: `${group}/v1`, kind, metadata: { name: 'one', namespace: SPOKE_NAMESPACE } };
    const name = await driver.work([object, definition]);
    await driver.applied(name);
    await driver.settled(name, 'Available', 'True');
    const late = untyped(`${group}/v1`, kind, `${kind}s`);
    expect((await driver.subject.spoke.get(late, { namespace: SPOKE_NAMESPACE, name: 'one' }))?.metadata.name).toBe('one');
  });
}
