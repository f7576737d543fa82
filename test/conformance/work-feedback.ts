import type { FeedbackMode } from '@flotilla/agent';
import { ConfigMap, Deployment } from '@flotilla/api/core';
import { ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { WatchCache } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { SPOKE_NAMESPACE, soon, Widget, widget } from './transport-driver.ts';
import { configOf, manifest, type WorkDriver } from './work-driver.ts';

const paths = (...jsonPaths: { name: string; path: string; version?: string }[]) => ({ feedbackRules: [{ type: 'JSONPaths', jsonPaths }] });
const widgetConfig = (name: string, options: Record<string, unknown>) => ({
  resourceIdentifier: { group: 'example.com', resource: 'widgets', name, namespace: SPOKE_NAMESPACE },
  ...options,
});
const deployment = (name: string, version = 1) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: SPOKE_NAMESPACE },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: `registry.example/app:${version}` }] } },
  },
});

/** Of the status, from the creation on: the stock agent applies in one controller and reads in another. */
const WRITES: Record<FeedbackMode, string> = { settled: 'one write', immediate: 'two writes' };

/** What is read back from the spoke (spec/ocm 4.2, 4.3). */
export function feedbackTests(get: () => WorkDriver, mode: FeedbackMode): void {
  test('Available means that the object exists: a Deployment of which nothing runs is available', async () => {
    const driver = get();
    const object = driver.name('deploy');
    const resourceIdentifier = { group: 'apps', resource: 'deployments', name: object, namespace: SPOKE_NAMESPACE };
    const manifestConfigs = [{ resourceIdentifier, feedbackRules: [{ type: 'WellKnownStatus' }] }];
    const name = await driver.work([deployment(object)], { manifestConfigs });
    await driver.settled(name, 'Available', 'True');
    expect(await driver.feedback(name)).toEqual({});
    expect(await driver.manifestCondition(name, 'StatusFeedbackSynced')).toMatchObject({ status: 'True', reason: 'StatusFeedbackSynced' });

    const ref = { namespace: SPOKE_NAMESPACE, name: object };
    await driver.subject.spoke.setStatus(Deployment, ref, { replicas: 1, readyReplicas: 1, availableReplicas: 1 });
    await soon(async () => expect(await driver.feedback(name)).toEqual({ ReadyReplicas: 1, Replicas: 1, AvailableReplicas: 1 }));
  });

  test(`a work that was made with its finalizer costs ${WRITES[mode]} to say that it is applied, there, and what was read of it`, async () => {
    const driver = get();
    const { hub, cluster } = driver.subject;
    await using stack = new AsyncDisposableStack();
    const stop = new AbortController();
    const works = new WatchCache(hub, ManifestWork, { namespace: cluster });
    stack.defer(() => works.stopped());
    stack.defer(() => stop.abort());
    const versions = new Map<string, Set<string>>();
    works.subscribe(({ object: { metadata } }) => {
      const seen = versions.get(metadata.name) ?? new Set();
      versions.set(metadata.name, seen.add(metadata.resourceVersion ?? ''));
    });
    works.start(stop.signal);
    await works.synced();
    const object = driver.name('first');
    const manifestConfigs = [configOf(object, paths({ name: 'a', path: '.data.a' }))];
    const name = await driver.work([manifest(object)], { manifestConfigs }, [WORK_FINALIZER]);
    await soon(async () =>
      expect(works.get(driver.ref(name))?.status?.resourceStatus?.manifests?.[0]?.statusFeedback?.values).toHaveLength(1),
    );
    const { conditions, resourceStatus } = works.get(driver.ref(name))?.status ?? {};
    expect(conditions?.map(({ type, status }) => [type, status])).toEqual([
      ['Applied', 'True'],
      ['Available', 'True'],
    ]);
    expect(resourceStatus?.manifests?.[0]?.statusFeedback?.values).toMatchObject([{ name: 'a', fieldValue: { string: '1' } }]);
    // The first version is the creation.
    expect(versions.get(name)?.size).toBe(1 + (mode === 'settled' ? 1 : 2));
  });

  test('JSON paths give texts, integers and booleans, each with its type; what is missing is left out', async () => {
    const driver = get();
    const object = driver.name('widget');
    const rules = paths(
      { name: 'text', path: '.status.phase' },
      { name: 'number', path: '.status.count' },
      { name: 'flag', path: '.status.done' },
      { name: 'prepared', path: '.status.conditions[?(@.type=="Prepared")].status' },
      { name: 'second', path: '.status.steps[1].name' },
      { name: 'quoted', path: ".metadata.labels['example.com/colour']" },
      { name: 'missing', path: '.status.nothing.here' },
      // A stray quote at the end is part of a key that nobody has.
      { name: 'stray', path: ".status.phase'" },
    );
    const labelled = widget(object, { labels: { 'example.com/colour': 'red' } });
    const name = await driver.work([labelled], { manifestConfigs: [widgetConfig(object, rules)] });
    await driver.applied(name);
    const conditions = [
      { type: 'Idle', status: 'False' },
      { type: 'Prepared', status: 'True' },
    ];
    const status = { phase: 'Running', count: 3, done: false, conditions, steps: [{ name: 'one' }, { name: 'two' }] };
    await driver.subject.spoke.setStatus(Widget, { namespace: SPOKE_NAMESPACE, name: object }, status);
    await soon(async () =>
      expect((await driver.manifest(name)).statusFeedback?.values).toEqual([
        { name: 'text', fieldValue: { type: 'String', string: 'Running' } },
        { name: 'number', fieldValue: { type: 'Integer', integer: 3 } },
        { name: 'flag', fieldValue: { type: 'Boolean', boolean: false } },
        { name: 'prepared', fieldValue: { type: 'String', string: 'True' } },
        { name: 'second', fieldValue: { type: 'String', string: 'two' } },
        { name: 'quoted', fieldValue: { type: 'String', string: 'red' } },
      ]),
    );
    expect(await driver.manifestCondition(name, 'StatusFeedbackSynced')).toMatchObject({ status: 'True', reason: 'StatusFeedbackSynced' });
  });

  test.each([
    { name: 'a list', path: '.data', says: '.data is an object' },
    { name: 'a path that is no path', path: 'data.a', says: 'expected "." or "["' },
    { name: 'another version', path: '.data.a', version: 'v2', says: 'version v2 is not v1' },
  ])('$name fails the feedback, and the other values are there', async ({ path, version, says }) => {
    const driver = get();
    const object = driver.name('cm');
    const rules = paths({ name: 'bad', path, version: version ?? 'v1' }, { name: 'good', path: '.data.a' });
    const name = await driver.work([manifest(object)], { manifestConfigs: [configOf(object, rules)] });
    await driver.settled(name, 'Available', 'True');
    const condition = await driver.manifestCondition(name, 'StatusFeedbackSynced');
    expect(condition).toMatchObject({ status: 'False', reason: 'StatusFeedbackSyncFailed' });
    expect(condition.message).toContain(says);
    expect(await driver.feedback(name)).toEqual({ good: '1' });
  });

  test('a value that no hub takes is left out and said, and what follows is reported', async () => {
    const driver = get();
    const object = driver.name('cm');
    const rules = paths({ name: 'long', path: '.data.long' }, { name: 'short', path: '.data.short' });
    const of = (short: string) => [manifest(object, { long: 'x'.repeat(70_000), short })];
    const name = await driver.work(of('1'), { manifestConfigs: [configOf(object, rules)] });
    await driver.applied(name);
    await soon(async () => expect(await driver.feedback(name)).toEqual({ short: '1' }));
    expect((await driver.manifestCondition(name, 'StatusFeedbackSynced')).message).toContain('long: left out, it has 70000 characters');
    await driver.edit(name, { workload: { manifests: of('2') } });
    await driver.applied(name);
    await soon(async () => expect(await driver.feedback(name)).toEqual({ short: '2' }));
  });

  test('a value that changes reaches the hub within two reads: the best of three', async () => {
    const driver = get();
    const object = driver.name('cm');
    // By Update the next apply would take away what the test writes into the work's data.
    const options = { ...paths({ name: 'b', path: '.data.b' }), updateStrategy: { type: 'ServerSideApply' } };
    const name = await driver.work([manifest(object)], { manifestConfigs: [configOf(object, options)] });
    await driver.applied(name);
    const took: number[] = [];
    for (const value of ['1', '2', '3']) {
      await driver.subject.spoke.patch(ConfigMap, { namespace: SPOKE_NAMESPACE, name: object }, { data: { b: value } });
      const changedAt = Date.now();
      await soon(async () => expect(await driver.feedback(name)).toEqual({ b: value }));
      took.push(Date.now() - changedAt);
    }
    expect(Math.min(...took)).toBeLessThan(2500);
  });

  test('values of an object that is gone are not kept', async () => {
    const driver = get();
    const object = driver.name('cm');
    const options = { ...paths({ name: 'a', path: '.data.a' }), updateStrategy: { type: 'ReadOnly' } };
    await driver.subject.spoke.create(ConfigMap, manifest(object));
    const name = await driver.work([manifest(object)], { manifestConfigs: [configOf(object, options)] });
    await soon(async () => expect(await driver.feedback(name)).toEqual({ a: '1' }));
    await driver.subject.spoke.delete(ConfigMap, { namespace: SPOKE_NAMESPACE, name: object });
    await driver.settled(name, 'Available', 'False');
    expect(await driver.feedback(name)).toEqual({});
    expect(await driver.manifestCondition(name, 'StatusFeedbackSynced')).toMatchObject({ status: 'False' });
  });

  test('right after a change a workload still reports its old version: withheld, or told with the generation it is of', async () => {
    const driver = get();
    const object = driver.name('deploy');
    const resourceIdentifier = { group: 'apps', resource: 'deployments', name: object, namespace: SPOKE_NAMESPACE };
    const generations = paths(
      { name: 'generation', path: '.metadata.generation' },
      { name: 'observed', path: '.status.observedGeneration' },
    ).feedbackRules;
    const feedbackRules = [{ type: 'WellKnownStatus' }, ...generations];
    const name = await driver.work([deployment(object)], { manifestConfigs: [{ resourceIdentifier, feedbackRules }] });
    await driver.settled(name, 'Available', 'True');
    const ref = { namespace: SPOKE_NAMESPACE, name: object };
    const ready = { replicas: 1, readyReplicas: 1, availableReplicas: 1 };
    const told = { ReadyReplicas: 1, Replicas: 1, AvailableReplicas: 1 };
    await driver.subject.spoke.setStatus(Deployment, ref, { ...ready, observedGeneration: 1 });
    await soon(async () => expect(await driver.feedback(name)).toEqual({ ...told, generation: 1, observed: 1 }));

    await driver.edit(name, { workload: { manifests: [deployment(object, 2)] } });
    await driver.applied(name);
    const stale = mode === 'immediate' ? { ...told, generation: 2, observed: 1 } : {};
    await soon(async () => expect(await driver.feedback(name)).toEqual(stale));
    const status = mode === 'immediate' ? 'True' : 'False';
    expect(await driver.manifestCondition(name, 'StatusFeedbackSynced')).toMatchObject({ status });

    await driver.subject.spoke.setStatus(Deployment, ref, { ...ready, observedGeneration: 2 });
    await soon(async () => expect(await driver.feedback(name)).toEqual({ ...told, generation: 2, observed: 2 }));
  });
}
