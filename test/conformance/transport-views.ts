import { ConfigMap } from '@flotilla/api/core';
import { ManagedClusterView } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import type { Extent } from './extent.ts';
import { type Running, SPELLINGS } from './transport-actions.ts';
import { configMap, SPOKE_NAMESPACE, soon, viewOf, Widget, widget } from './transport-driver.ts';

const PREFIX = 'failed to get resource with err: ';
const inNamespace = { namespace: SPOKE_NAMESPACE, name: 'x' };

/** Every error of spec/ocm 1.10 that a spoke can show, word for word. */
const REFUSALS = [
  {
    name: 'no name',
    scope: { resource: 'configmaps', namespace: SPOKE_NAMESPACE },
    reason: 'ResourceNameInvalid',
    message: `${PREFIX}invalid resource name`,
  },
  { name: 'no resource and no kind', scope: inNamespace, reason: 'ResourceTypeInvalid', message: `${PREFIX}invalid resource type` },
  {
    name: 'a kind without a version',
    scope: { kind: 'ConfigMap', ...inNamespace },
    reason: 'ResourceTypeInvalid',
    message: `${PREFIX}invalid resource type`,
  },
  {
    name: 'an unknown resource',
    scope: { resource: 'foos', ...inNamespace },
    reason: 'ResourceTypeInvalid',
    message: `${PREFIX}fail to mapping GroupKind foos, GroupKindVersion , resource:foos err: no matches for kind "foos" in version ""`,
  },
  {
    name: 'secrets by resource',
    scope: { resource: 'secrets', ...inNamespace },
    reason: 'ResourceTypeInvalid',
    message: 'viewing secrets is not allowed',
  },
  {
    name: 'secrets by kind',
    scope: { version: 'v1', kind: 'Secret', ...inNamespace },
    reason: 'ResourceTypeInvalid',
    message: 'viewing secrets is not allowed',
  },
  {
    name: 'an unknown version',
    scope: { apiGroup: 'example.com', version: 'v9', kind: 'Widget', ...inNamespace },
    reason: 'ResourceGVKInvalid',
    message: `${PREFIX}no matches for kind "Widget" in version "example.com/v9"`,
  },
  {
    name: 'an object that is not there',
    scope: viewOf('nope'),
    reason: 'GetResourceFailed',
    message: `${PREFIX}configmaps "nope" not found`,
  },
  {
    name: 'an object in a namespace that is not there',
    scope: { ...viewOf('nope'), namespace: 'nope' },
    reason: 'GetResourceFailed',
    message: `${PREFIX}configmaps "nope" not found`,
  },
  {
    name: 'a cluster-scoped kind with a namespace',
    scope: { resource: 'namespaces', name: 'default', namespace: SPOKE_NAMESPACE },
    reason: 'GetResourceFailed',
    message: `${PREFIX}the server could not find the requested resource`,
  },
];

/** Milliseconds a dead agent is watched doing nothing. */
const SILENCE_MS = 2500;

/** Views: conditions, and when an object is read again (spec/ocm 1.8 to 1.11). */
export function viewTests(running: () => Running, extent: Extent): void {
  test('a change on the spoke is seen at the next poll', async () => {
    const { driver } = running();
    const name = await driver.configMap('1');
    const view = await driver.see(viewOf(name, 1));
    await driver.showing(view, '1');
    const { lastTransitionTime } = await driver.processing(view);
    await driver.setValue(name, '2');
    await driver.showing(view, '2');
    expect((await driver.processing(view)).lastTransitionTime).toBe(lastTransitionTime);
  });

  test('a poll that finds no change writes nothing', async () => {
    const { driver } = running();
    const view = await driver.see(viewOf(await driver.configMap('1'), 1));
    await driver.showing(view, '1');
    const before = (await driver.view(view)).metadata.resourceVersion;
    await driver.twoPolls();
    expect((await driver.view(view)).metadata.resourceVersion).toBe(before);
  });

  test('an object that goes turns the view False and leaves the old result', async () => {
    const { driver, subject } = running();
    const name = await driver.configMap('last');
    const view = await driver.see(viewOf(name, 1));
    await driver.showing(view, 'last');
    await subject.spoke.delete(ConfigMap, { namespace: SPOKE_NAMESPACE, name });
    expect(await driver.processing(view, 'False')).toMatchObject({
      reason: 'GetResourceFailed',
      message: `${PREFIX}configmaps "${name}" not found`,
    });
    expect(await driver.shown(view)).toBe('last');
  });

  test('a touch later than the interval reads at once', async () => {
    const { driver } = running();
    const name = await driver.configMap('1');
    const view = await driver.see(viewOf(name, 4));
    const { lastTransitionTime } = await driver.processing(view, 'True');
    // The first poll after the blackout; the next is four seconds off.
    await driver.setValue(name, '2');
    await driver.showing(view, '2');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(lastTransitionTime) + 4000);
    await driver.setValue(name, '3');
    const touchedAt = Date.now();
    await driver.touch(ManagedClusterView, view);
    await driver.showing(view, '3');
    expect(Date.now() - touchedAt).toBeLessThan(2500);
  });

  test('a dead agent leaves Processing=True and the stale result; the next one reads anew', async () => {
    const { driver, subject } = running();
    const name = await driver.configMap('1');
    const view = await driver.see(viewOf(name, 1));
    await driver.showing(view, '1');
    await subject.stopAgent();
    await driver.setValue(name, '2');
    const before = (await driver.view(view)).metadata.resourceVersion;
    // Nothing to wait for: the point is that nothing comes, for more than two intervals.
    await new Promise((resolve) => setTimeout(resolve, SILENCE_MS));
    const silent = await driver.view(view);
    expect(silent.metadata.resourceVersion).toBe(before);
    expect(silent.status?.conditions?.[0]?.status).toBe('True');
    expect(await driver.shown(view)).toBe('1');
    await subject.startAgent();
    await driver.showing(view, '2');
  });

  test('deleting a view ends its polling', async () => {
    const { driver, subject } = running();
    const view = await driver.see(viewOf(await driver.configMap('1'), 1));
    await driver.processing(view, 'True');
    await subject.hub.delete(ManagedClusterView, { namespace: subject.cluster, name: view });
    await driver.twoPolls();
    await soon(async () => expect(await subject.hub.get(ManagedClusterView, { namespace: subject.cluster, name: view })).toBeUndefined());
  });

  if (extent === 'short') return;
  test.each(REFUSALS)('view refused: $name', async ({ scope, reason, message }) => {
    const { driver } = running();
    const name = await driver.see({ ...scope, updateIntervalSeconds: 3600 });
    const condition = await driver.processing(name);
    expect(condition).toMatchObject({ type: 'Processing', status: 'False', reason, message });
    expect(condition.observedGeneration).toBeUndefined();
    expect((await driver.view(name)).status?.result ?? null).toBeNull();
  });

  test.each(SPELLINGS)('a view finds $resource', async ({ resource, kind }) => {
    const { driver, subject } = running();
    const name = driver.name('seen');
    await subject.spoke.create(kind, kind === Widget ? widget(name) : configMap(name, {}));
    const view = await driver.see({ resource, namespace: SPOKE_NAMESPACE, name, updateIntervalSeconds: 3600 });
    expect(await driver.processing(view)).toMatchObject({
      status: 'True',
      reason: 'GetResourceProcessing',
      message: 'Watching resources successfully',
    });
    const live = await subject.spoke.get(kind, { namespace: SPOKE_NAMESPACE, name });
    expect((await driver.view(view)).status?.result).toMatchObject({
      kind: kind.kind,
      metadata: { name, uid: live?.metadata.uid, resourceVersion: live?.metadata.resourceVersion },
    });
  });

  test('scope.resource wins over the kind', async () => {
    const { driver } = running();
    const name = await driver.configMap('1');
    const view = await driver.see({ ...viewOf(name, 3600), kind: 'Secret', resource: 'configmaps' });
    await driver.showing(view, '1');
  });

  test('a new spec is ignored until the interval after the last flip is over', async () => {
    const { driver } = running();
    const [first, second] = [await driver.configMap('first'), await driver.configMap('second')];
    const view = await driver.see(viewOf(first, 3));
    const { lastTransitionTime } = await driver.processing(view, 'True');
    await driver.edit(ManagedClusterView, view, { scope: { name: second } });
    await driver.barrier();
    expect(await driver.shown(view)).toBe('first');
    await driver.showing(view, 'second');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(lastTransitionTime) + 3000);
  });

  test('after an error the view is blind for one interval', async () => {
    const { driver, subject } = running();
    const name = driver.name('late');
    const view = await driver.see(viewOf(name, 3));
    const { lastTransitionTime } = await driver.processing(view, 'False');
    await subject.spoke.create(ConfigMap, configMap(name, { value: 'here' }));
    await driver.touch(ManagedClusterView, view);
    await driver.showing(view, 'here');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(lastTransitionTime) + 3000);
  });

  test('a negative interval never polls, and every touch reads at once', async () => {
    const { driver } = running();
    const name = await driver.configMap('1');
    const view = await driver.see(viewOf(name, -1));
    await driver.showing(view, '1');
    // The agent's own write is a touch too.
    await driver.viewBarrier();
    await driver.setValue(name, '2');
    await driver.twoPolls();
    expect(await driver.shown(view)).toBe('1');
    await driver.touch(ManagedClusterView, view);
    await driver.showing(view, '2');
  });

  test('clearing the status makes the agent read at once, in mid-interval', async () => {
    const { driver } = running();
    const name = await driver.configMap('1');
    const view = await driver.see(viewOf(name, 3600));
    await driver.showing(view, '1');
    await driver.setValue(name, '2');
    await driver.clearStatus(view);
    await driver.showing(view, '2');
  });
}
