import { ConfigMap, Namespace } from '@flotilla/api/core';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import type { Extent } from './extent.ts';
import { configMap, expectObject, SPOKE_NAMESPACE, soon, type TransportDriver, Widget, widget } from './transport-driver.ts';
import type { TransportSubject } from './transport-subject.ts';

/** The suite's subject and driver; there from `beforeAll` on. */
export interface Running {
  readonly subject: TransportSubject;
  readonly driver: TransportDriver;
}

const deleteOf = (kube: Record<string, unknown>) => ({ actionType: 'Delete', kube });
const createOf = (template: unknown, kube: Record<string, unknown> = {}) => ({ actionType: 'Create', kube: { ...kube, template } });

/** Every refusal of spec/ocm 1.3 that a spoke can show, word for word. */
const REFUSALS = [
  {
    name: 'Create in a namespace that is not there',
    spec: createOf(configMap('x', {}, { namespace: 'nope' })),
    reason: 'CreateResourceFailed',
    error: 'namespaces "nope" not found',
  },
  {
    name: 'Create of a namespaced kind without a namespace',
    spec: createOf(configMap('x', {}, { namespace: undefined })),
    reason: 'CreateResourceFailed',
    error: 'namespace must be set',
  },
  {
    name: 'Create with two different namespaces',
    spec: createOf(configMap('x', {}), { namespace: 'default' }),
    reason: 'CreateResourceFailed',
    error: 'the namespace of the provided object does not match the namespace sent on the request',
  },
  {
    name: 'Create of an unknown kind',
    spec: createOf({ apiVersion: 'foo.io/v1', kind: 'Foo', metadata: { name: 'x' } }),
    reason: 'CreateResourceFailed',
    error: 'no matches for kind "Foo" in version "foo.io/v1"',
  },
  {
    name: 'Create without a template',
    spec: { actionType: 'Create', kube: {} },
    reason: 'CreateResourceFailed',
    error: 'unexpected end of JSON input',
  },
  {
    name: 'Update of an object that is not there',
    spec: { actionType: 'Update', kube: { template: configMap('ghost', {}) } },
    reason: 'UpdateResourceFailed',
    error: 'configmaps "ghost" not found',
  },
  {
    name: 'Delete of an object that is not there',
    spec: deleteOf({ resource: 'configmaps', namespace: SPOKE_NAMESPACE, name: 'ghost' }),
    reason: 'DeleteResourceFailed',
    error: 'configmaps "ghost" not found',
  },
  {
    name: 'Delete of a cluster-scoped kind with a namespace',
    spec: deleteOf({ resource: 'namespaces', namespace: SPOKE_NAMESPACE, name: 'x' }),
    reason: 'DeleteResourceFailed',
    error: 'the server could not find the requested resource',
  },
  {
    name: 'Delete of a namespaced kind without a namespace',
    spec: deleteOf({ resource: 'configmaps', name: 'x' }),
    reason: 'DeleteResourceFailed',
    error: 'the server could not find the requested resource',
  },
  {
    name: 'Delete without a name',
    spec: deleteOf({ resource: 'configmaps', namespace: SPOKE_NAMESPACE }),
    reason: 'DeleteResourceFailed',
    error: 'name is required',
  },
  ...['foos', 'cm', 'pods/log'].map((resource) => ({
    name: `Delete of ${resource}`,
    spec: deleteOf({ resource, namespace: SPOKE_NAMESPACE, name: 'x' }),
    reason: 'DeleteResourceFailed',
    error: `fail to mapping GroupKind ${resource}, GroupKindVersion , resource:${resource} err: no matches for kind "${resource}" in version ""`,
  })),
  { name: 'an unknown action type', spec: { actionType: 'Patch', kube: {} }, reason: 'ActionTypeInvalid', error: 'invalid action type' },
  { name: 'an empty action type', spec: { actionType: '', kube: {} }, reason: 'ActionTypeInvalid', error: 'invalid action type' },
];

/** Spellings of a resource that work (spec/ocm 1.9). */
export const SPELLINGS = [
  { resource: 'configmaps', kind: ConfigMap },
  { resource: 'configmap', kind: ConfigMap },
  { resource: 'ConfigMap', kind: ConfigMap },
  { resource: 'widgets.v1.example.com', kind: Widget },
  { resource: 'widgets.example.com', kind: Widget },
  { resource: 'Widget.example.com', kind: Widget },
];

/** Actions: verdicts, effects, and how often an action runs (spec/ocm 1.3 to 1.6). */
export function actionTests(running: () => Running, extent: Extent): void {
  test('Create makes the object and echoes its template', async () => {
    const { driver, subject } = running();
    const template = configMap(driver.name('made'), { a: '1' });
    const { name, condition } = await driver.perform(createOf(template));
    expect(condition).toMatchObject({ status: 'True', reason: 'ActionDone', message: 'Resource action is done.' });
    expect((await driver.action(name)).status?.result).toEqual(template);
    expect(await subject.spoke.get(ConfigMap, template.metadata)).toMatchObject({ data: { a: '1' } });
  });

  test('Create is not idempotent: the second one fails', async () => {
    const { driver } = running();
    const existing = await driver.configMap('old');
    const { condition } = await driver.perform(createOf(configMap(existing, { value: 'new' })));
    expect(condition.message).toBe(`failed to handle Create action with err: configmaps "${existing}" already exists`);
  });

  test('Update with the whole object changes one key and keeps the rest; without a difference it writes nothing and its result is null', async () => {
    const { driver, subject } = running();
    const name = driver.name('widget');
    await subject.spoke.create(Widget, widget(name, { labels: { l: '1' }, annotations: { n: '1' } }));
    const live = expectObject(await subject.spoke.get(Widget, { namespace: SPOKE_NAMESPACE, name }));
    const same = await driver.perform({ actionType: 'Update', kube: { template: live } });
    expect(same.condition.status).toBe('True');
    expect((await driver.action(same.name)).status?.result ?? null).toBeNull();
    const { condition } = await driver.perform({ actionType: 'Update', kube: { template: { ...live, spec: { size: 7, colour: 'red' } } } });
    expect(condition.status).toBe('True');
    const after = expectObject(await subject.spoke.get(Widget, { namespace: SPOKE_NAMESPACE, name }));
    expect(after).toMatchObject({ spec: { size: 7, colour: 'red' }, metadata: { labels: { l: '1' }, annotations: { n: '1' } } });
  });

  test('Delete of a namespace is accepted before the namespace is gone', async () => {
    const { driver, subject } = running();
    const name = driver.name('doomed-ns');
    await subject.spoke.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const { condition } = await driver.perform(deleteOf({ resource: 'namespace', name }));
    expect(condition).toMatchObject({ status: 'True', reason: 'ActionDone' });
    const left = await subject.spoke.get(Namespace, { name });
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
  });

  test('a done action is frozen: a new spec is ignored', async () => {
    const { driver, subject } = running();
    const [first, second] = [driver.name('frozen'), driver.name('frozen')];
    const { name } = await driver.perform(createOf(configMap(first, {})));
    await driver.edit(ManagedClusterAction, name, createOf(configMap(second, {})));
    await driver.barrier();
    expect(await subject.spoke.get(ConfigMap, { namespace: SPOKE_NAMESPACE, name: second })).toBeUndefined();
    expect((await driver.action(name)).status?.result).toMatchObject({ metadata: { name: first } });
  });

  test('a failing action runs twice, again at a touch, and again when the agent restarts', async () => {
    const { driver, subject } = running();
    const existing = await driver.configMap('there');
    const before = await subject.refusedCreates();
    const runs = async (): Promise<number> => (await subject.refusedCreates()) - before;
    const name = await driver.act(createOf(configMap(existing, {})));
    await driver.verdict(name, 'False');
    await driver.barrier();
    expect(await runs()).toBe(2);
    await driver.touch(ManagedClusterAction, name);
    await driver.barrier();
    expect(await runs()).toBe(3);
    // Only this one is to run again, others of the suite would count too.
    for (const { metadata } of (await subject.hub.list(ManagedClusterAction, { namespace: subject.cluster })).items)
      if (metadata.name !== name) await subject.hub.delete(ManagedClusterAction, metadata);
    await subject.stopAgent();
    await subject.startAgent();
    await driver.barrier();
    expect(await runs()).toBe(4);
  });

  test('an action for a spoke out of reach has no condition and fires when the agent returns', async () => {
    const { driver, subject } = running();
    await subject.stopAgent();
    const made = driver.name('late');
    const name = await driver.act(createOf(configMap(made, {})));
    expect((await driver.action(name)).status?.conditions ?? []).toEqual([]);
    expect(await subject.spoke.get(ConfigMap, { namespace: SPOKE_NAMESPACE, name: made })).toBeUndefined();
    await subject.startAgent();
    await driver.verdict(name, 'True');
    await soon(async () => expect(await subject.spoke.get(ConfigMap, { namespace: SPOKE_NAMESPACE, name: made })).toBeDefined());
  });

  if (extent === 'short') return;
  test.each(REFUSALS)('action refused: $name', async ({ spec, reason, error }) => {
    const { driver } = running();
    const { name, condition } = await driver.perform(spec);
    const message = `failed to handle ${spec.actionType} action with err: ${error}`;
    expect(condition).toMatchObject({ type: 'Completed', status: 'False', reason, message });
    expect(condition.observedGeneration).toBeUndefined();
    expect((await driver.action(name)).status?.result ?? null).toBeNull();
  });

  test('an action without spec.kube gets a verdict that names the fix', async () => {
    const { condition } = await running().driver.perform({ actionType: 'Create' });
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'CreateResourceFailed',
      message: expect.stringContaining('spec.kube is required'),
    });
  });

  test('Update replaces the whole object: labels, annotations and keys the template lacks are gone', async () => {
    const { driver, subject } = running();
    const name = driver.name('wiped');
    await subject.spoke.create(ConfigMap, configMap(name, { a: '1', b: '2' }, { labels: { l: '1' }, annotations: { n: '1' } }));
    const before = expectObject(await subject.spoke.get(ConfigMap, { namespace: SPOKE_NAMESPACE, name }));
    await driver.verdict(await driver.act({ actionType: 'Update', kube: { template: configMap(name, { a: '9' }) } }), 'True');
    const after = expectObject(await subject.spoke.get(ConfigMap, { namespace: SPOKE_NAMESPACE, name }));
    expect(after).toMatchObject({ data: { a: '9' } });
    expect(Object.keys(Object(after.data))).toEqual(['a']);
    expect(after.metadata.labels ?? {}).toEqual({});
    expect(after.metadata.annotations ?? {}).toEqual({});
    expect(after.metadata.uid).toBe(before.metadata.uid);
  });

  test('Update of a custom resource needs the current resourceVersion and drops finalizers the template lacks', async () => {
    const { driver, subject } = running();
    const name = driver.name('widget');
    await subject.spoke.create(Widget, widget(name, { finalizers: ['example.com/keep'], labels: { l: '1' } }));
    const live = expectObject(await subject.spoke.get(Widget, { namespace: SPOKE_NAMESPACE, name }));
    const update = (metadata: Record<string, unknown>) =>
      driver.perform({ actionType: 'Update', kube: { template: widget(name, metadata, { size: 2 }) } });

    const blind = await update({});
    expect(blind.condition.message).toContain(`widgets.example.com "${name}" is invalid: metadata.resourceVersion: Invalid value:`);
    expect(blind.condition.message).toContain('must be specified for an update');
    const stale = await update({ resourceVersion: '1' });
    expect(stale.condition.message).toBe(
      `failed to handle Update action with err: Operation cannot be fulfilled on widgets.example.com "${name}": the object has been modified; please apply your changes to the latest version and try again`,
    );
    const exact = await update({ resourceVersion: live.metadata.resourceVersion });
    expect(exact.condition).toMatchObject({ status: 'True', reason: 'ActionDone' });
    const after = expectObject(await subject.spoke.get(Widget, { namespace: SPOKE_NAMESPACE, name }));
    expect(after.spec).toEqual({ size: 2 });
    expect(after.metadata.finalizers ?? []).toEqual([]);
    expect(after.metadata.labels ?? {}).toEqual({});
  });

  test.each(SPELLINGS)('Delete finds $resource', async ({ resource, kind }) => {
    const { driver, subject } = running();
    const name = driver.name('doomed');
    await subject.spoke.create(kind, kind === Widget ? widget(name) : configMap(name, {}));
    await driver.verdict(await driver.act(deleteOf({ resource, namespace: SPOKE_NAMESPACE, name })), 'True');
    // Without a garbage collector a foreground deletion stays pending.
    const left = await subject.spoke.get(kind, { namespace: SPOKE_NAMESPACE, name });
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
  });

  test('making the spoke ready does nothing by itself; a touch then turns False into True', async () => {
    const { driver, subject } = running();
    const namespace = driver.name('late-ns');
    const name = await driver.act(createOf(configMap('x', {}, { namespace })));
    const { lastTransitionTime } = await driver.verdict(name, 'False');
    // Its second run is over: that one would find the namespace.
    await driver.barrier();
    await subject.spoke.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await driver.barrier();
    expect(await driver.verdict(name)).toMatchObject({ status: 'False', lastTransitionTime });
    await driver.touch(ManagedClusterAction, name);
    await driver.verdict(name, 'True');
  });

  test('a failed action follows its edited spec', async () => {
    const { driver } = running();
    const name = await driver.act(createOf(configMap('x', {}, { namespace: 'nope' })));
    await driver.verdict(name, 'False');
    await driver.edit(ManagedClusterAction, name, createOf(configMap(driver.name('mended'), {})));
    await driver.verdict(name, 'True');
  });
}
