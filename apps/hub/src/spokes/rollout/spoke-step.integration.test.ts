import { Annotation, Label } from '@flotilla/api';
import { ManagedCluster, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attempt, ended, isCurrent, preparing, running, runStep, SpokeHub, type StepProcess, stepOf } from '../../../testing/spoke-hub.ts';

let server: ApiServer;
let hub: SpokeHub;
let worker: StepProcess;
beforeAll(async () => {
  server = await startApiServer();
  hub = await SpokeHub.start(await server.client());
  worker = await hub.startProcess();
  await Promise.all(['first', 'second'].map((name) => hub.template(name, { [Annotation.expectedValues]: '[]' })));
});
afterAll(async () => {
  hub?.stop();
  await server?.stop();
});

const TEMPLATES = { manifestWorkTemplates: ['first', 'second'] };
const at = (manifestWorkIndex: number) => ({ state: 'InProgress', manifestWorkIndex });
const names = (objects: readonly { metadata: { name: string } }[]) =>
  objects.map(({ metadata }) => metadata.name.replace(/-[a-z0-9]{5}$/, ''));

describe('prepare', () => {
  test('edits the cluster and gives it the label name, once', async () => {
    const spoke = await hub.spoke('prepared', { name: '', old: '1' });
    await hub.client.patch(ManagedCluster, { name: spoke }, { metadata: { labels: { name: null } } }, { type: 'merge' });
    const beforeEnable = { addClusterLabels: { 'ztp-running': '' }, removeClusterLabels: ['old'], addClusterAnnotations: { note: 'a b' } };
    const upgrade = await hub.upgrade('prepare', { managedPolicies: ['p'], actions: { beforeEnable } }, preparing([spoke]));

    await runStep(worker, upgrade, spoke);
    const after = await hub.cluster(spoke);
    expect(after?.metadata.labels).toEqual({ name: spoke, 'ztp-running': '' });
    expect(after?.metadata.annotations).toEqual({ note: 'a b' });

    await runStep(worker, upgrade, spoke);
    expect((await hub.cluster(spoke))?.metadata.resourceVersion).toBe(after?.metadata.resourceVersion);
  });

  test('a late job does not undo what the end of the rollout did', async () => {
    const spoke = await hub.spoke('late');
    const actions = { beforeEnable: { addClusterLabels: { busy: '' } }, afterCompletion: { removeClusterLabels: ['busy'] } };
    const upgrade = await hub.upgrade('late', { ...TEMPLATES, actions }, preparing([spoke]));
    await runStep(worker, upgrade, spoke);
    expect((await hub.cluster(spoke))?.metadata.labels).toHaveProperty('busy');
    await runStep(worker, await hub.store('late', running({ [spoke]: { state: 'Completed' } })), spoke);
    expect((await hub.cluster(spoke))?.metadata.labels).not.toHaveProperty('busy');

    expect(await attempt(worker.process, stepOf(upgrade, spoke))).toBeUndefined();
    expect((await hub.cluster(spoke))?.metadata.labels).not.toHaveProperty('busy');
  });

  test('a cluster that is gone is no error', async () => {
    const upgrade = await hub.upgrade(
      'gone',
      { ...TEMPLATES, actions: { beforeEnable: { addClusterLabels: { a: '' } } } },
      preparing(['nowhere']),
    );
    await runStep(worker, upgrade, 'nowhere');
    expect(await hub.cluster('nowhere')).toBeUndefined();
  });
});

describe('remediate with ManifestWorks', () => {
  test('creates the work of the template once', async () => {
    const spoke = await hub.spoke('creating');
    const upgrade = await hub.upgrade('creating', TEMPLATES, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    const [work, ...others] = await hub.works(spoke);
    expect(others).toEqual([]);
    expect(work?.metadata.name).toMatch(/^default\.first-[a-z0-9]{5}$/);
    expect(work?.metadata.labels).toMatchObject({ [Label.upgradeName]: 'creating', [Label.upgradeNamespace]: 'default' });
    expect(work?.metadata.annotations).toEqual({ [Annotation.expectedValues]: '[]' });
    expect(work?.spec?.workload?.manifests).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first', namespace: 'default' } },
    ]);

    // A process whose cache lacks the new object adds none.
    await runStep(await hub.startProcess(), upgrade, spoke);
    expect((await hub.works(spoke)).map(({ metadata }) => metadata.uid)).toEqual([work?.metadata.uid]);
  });

  test('the next work is created when the one before is gone, not when its deletion was requested', async () => {
    const spoke = await hub.spoke('sequence');
    const upgrade = await hub.upgrade('sequence', TEMPLATES, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    const [first] = await hub.works(spoke);
    const ref = { namespace: spoke, name: first?.metadata.name ?? '' };
    // An agent keeps its finalizer until it has removed the applied objects.
    await hub.client.patch(ManifestWork, ref, { metadata: { finalizers: ['test.io/agent'] } }, { type: 'merge' });

    const moved = await hub.store('sequence', running({ [spoke]: at(1) }));
    await runStep(worker, moved, spoke);
    const [leaving, ...others] = await hub.works(spoke);
    expect(leaving?.metadata.deletionTimestamp).toBeDefined();
    expect(others).toEqual([]);

    await hub.client.patch(ManifestWork, ref, { metadata: { finalizers: null } }, { type: 'merge' });
    await eventually(() => worker.caches.works.get(ref) === undefined);
    await runStep(worker, moved, spoke);
    expect(names(await hub.works(spoke))).toEqual(['default.second']);
  });

  test('a process that dies between deletion and creation is followed by one that creates', async () => {
    const spoke = await hub.spoke('crash');
    const upgrade = await hub.upgrade('crash', TEMPLATES, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    const moved = await hub.store('crash', running({ [spoke]: at(1) }));

    const dying = await hub.startProcess(1);
    await dying.process(stepOf(moved, spoke));
    await eventually(() => dying.caches.works.list().every(({ metadata }) => metadata.namespace !== spoke));
    await expect(dying.process(stepOf(moved, spoke))).rejects.toThrow('the process is dead');
    expect(await hub.works(spoke)).toEqual([]);

    await runStep(await hub.startProcess(), moved, spoke);
    expect(names(await hub.works(spoke))).toEqual(['default.second']);
  });

  test('a process that is behind with the upgrade does not bring back a template that is done', async () => {
    const spoke = await hub.spoke('behind');
    const upgrade = await hub.upgrade('behind', TEMPLATES, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    const behind = await hub.startProcess();
    behind.fallBehind();
    await runStep(worker, await hub.store('behind', running({ [spoke]: at(1) })), spoke);
    const [second] = await hub.works(spoke);
    expect(names([second ?? expect.fail('no work')])).toEqual(['default.second']);
    await eventually(() => behind.caches.works.get(second?.metadata ?? { name: '' }));

    for (const _ of [1, 2]) expect(await attempt(behind.process, stepOf(upgrade, spoke))).toBeUndefined();
    expect((await hub.works(spoke)).map(({ metadata }) => metadata.uid)).toEqual([second?.metadata.uid]);
  });

  test('a job of a batch that has ended creates nothing', async () => {
    const spoke = await hub.spoke('stale');
    const upgrade = await hub.upgrade('stale', TEMPLATES, running({ [spoke]: at(0) }));
    const over = await hub.store('stale', running({ [spoke]: at(0) }, { clusters: [{ name: spoke, state: 'timedout' }] }));
    await eventually(() => isCurrent(worker.caches, over));
    expect(await attempt(worker.process, stepOf(upgrade, spoke))).toBeUndefined();
    expect(await hub.works(spoke)).toEqual([]);

    await hub.store('stale', ended());
    expect(await attempt(worker.process, stepOf(upgrade, spoke))).toBeUndefined();
    expect(await hub.works(spoke)).toEqual([]);
  });

  test('a job that comes before its status does nothing, nor does one of an upgrade that nobody knows', async () => {
    const spoke = await hub.spoke('early');
    const upgrade = await hub.upgrade('early', TEMPLATES, running({ [spoke]: { state: 'NotStarted' } }));
    await eventually(() => isCurrent(worker.caches, upgrade));
    const step = stepOf(upgrade, spoke);
    expect(await attempt(worker.process, step)).toBeUndefined();
    expect(await hub.works(spoke)).toEqual([]);

    await runStep(worker, await hub.store('early', running({ [spoke]: at(0) })), spoke);
    expect(await hub.works(spoke)).toHaveLength(1);

    expect(await worker.process({ ...step, upgrade: 'never-seen' })).toBe(false);
  });

  test('a job of an upgrade that was created anew under its name does nothing', async () => {
    const spoke = await hub.spoke('anew');
    const old = await hub.upgrade('anew', TEMPLATES, running({ [spoke]: at(0) }));
    await hub.client.delete(ClusterGroupUpgrade, { namespace: 'default', name: 'anew' });
    const upgrade = await hub.upgrade('anew', TEMPLATES, running({ [spoke]: at(0) }));
    await eventually(() => isCurrent(worker.caches, upgrade));
    await attempt(worker.process, stepOf(old, spoke));
    expect(await hub.works(spoke)).toEqual([]);
  });

  test('without its template nothing is created until it is back', async () => {
    const spoke = await hub.spoke('untemplated');
    const upgrade = await hub.upgrade('untemplated', { manifestWorkTemplates: ['later'] }, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    expect(await hub.works(spoke)).toEqual([]);
    await hub.template('later');
    await eventually(() => worker.caches.templates.get({ namespace: 'default', name: 'later' }) !== undefined);
    await runStep(worker, upgrade, spoke);
    expect(names(await hub.works(spoke))).toEqual(['default.later']);
  });

  describe('where the name of the work is taken', () => {
    const suffixed = async (name: string, spoke: string) => {
      const upgrade = await hub.upgrade(
        name,
        TEMPLATES,
        running({ [spoke]: at(0) }, { safeResourceNames: { '/default.first': 'same-name' } }),
      );
      await eventually(() => isCurrent(worker.caches, upgrade));
      return upgrade;
    };

    test('by another upgrade, it waits until that one has ended', async () => {
      const spoke = await hub.spoke('shared');
      await runStep(worker, await suffixed('holder', spoke), spoke);
      const [held] = await hub.works(spoke);
      const upgrade = await suffixed('waiter', spoke);
      expect(await attempt(worker.process, stepOf(upgrade, spoke))).toMatch(
        /^FLOTILLA_NAME_TAKEN: ManifestWork shared\/same-name belongs to ClusterGroupUpgrade default\/holder/,
      );
      expect((await hub.works(spoke)).map(({ metadata }) => metadata.uid)).toEqual([held?.metadata.uid]);

      await hub.client.delete(ClusterGroupUpgrade, { namespace: 'default', name: 'holder' });
      await eventually(() => worker.caches.upgrades.get({ namespace: 'default', name: 'holder' }) === undefined);
      await runStep(worker, upgrade, spoke);
      const [work, ...others] = await hub.works(spoke);
      expect(others).toEqual([]);
      expect(work?.metadata.labels).toMatchObject({ [Label.upgradeName]: 'waiter', [Label.upgradeUid]: upgrade.metadata.uid });
    });

    test('by an earlier upgrade of its own name, that work is replaced', async () => {
      const spoke = await hub.spoke('reborn');
      const old = await suffixed('reborn', spoke);
      await runStep(worker, old, spoke);
      await hub.client.delete(ClusterGroupUpgrade, { namespace: 'default', name: 'reborn' });
      const upgrade = await suffixed('reborn', spoke);
      await runStep(worker, upgrade, spoke);
      await eventually(async () => (await hub.works(spoke))[0]?.metadata.labels?.[Label.upgradeUid] === upgrade.metadata.uid);
      expect(await hub.works(spoke)).toHaveLength(1);
    });

    test('by somebody who is no upgrade, that work is left alone and named', async () => {
      const spoke = await hub.spoke('private');
      const own = await hub.client.create(ManifestWork, {
        metadata: { name: 'same-name', namespace: spoke },
        spec: { workload: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }] } },
      });
      const upgrade = await suffixed('polite', spoke);
      expect(await attempt(worker.process, stepOf(upgrade, spoke))).toMatch(
        /ManifestWork private\/same-name belongs to no ClusterGroupUpgrade; delete or rename it$/,
      );
      expect((await hub.works(spoke)).map(({ metadata }) => metadata.uid)).toEqual([own.metadata.uid]);
    });
  });
});

describe('complete and cleanup', () => {
  test('complete edits the cluster and leaves the last work; what a person changes afterwards stays changed', async () => {
    const spoke = await hub.spoke('completed');
    const actions = { afterCompletion: { addClusterLabels: { 'ztp-done': '' } } };
    const started = await hub.upgrade('completed', { ...TEMPLATES, actions }, running({ [spoke]: at(0) }));
    await runStep(worker, started, spoke);
    await runStep(worker, await hub.store('completed', running({ [spoke]: { state: 'Completed' } })), spoke);
    expect((await hub.cluster(spoke))?.metadata.labels).toMatchObject({ 'ztp-done': '' });
    expect(await hub.works(spoke)).toHaveLength(1);

    const recorded = await hub.store(
      'completed',
      running({ [spoke]: { state: 'Completed' } }, { clusters: [{ name: spoke, state: 'complete' }] }),
    );
    await hub.client.patch(ManagedCluster, { name: spoke }, { metadata: { labels: { 'ztp-done': null } } }, { type: 'merge' });
    await runStep(worker, recorded, spoke);
    expect((await hub.cluster(spoke))?.metadata.labels).not.toHaveProperty('ztp-done');
  });

  test('cleanup removes the works of this upgrade alone', async () => {
    const spoke = await hub.spoke('cleaned');
    const keeper = await hub.upgrade('keeper', TEMPLATES, running({ [spoke]: at(0) }));
    const upgrade = await hub.upgrade('cleaned', TEMPLATES, running({ [spoke]: at(0) }));
    for (const each of [keeper, upgrade]) await runStep(worker, each, spoke);
    expect(await hub.works(spoke)).toHaveLength(2);
    await runStep(worker, await hub.store('cleaned', ended()), spoke);
    expect((await hub.works(spoke)).map(({ metadata }) => metadata.labels?.[Label.upgradeUid])).toEqual([keeper.metadata.uid]);
  });

  test('cleanup keeps the works of an upgrade that wants them kept, until it is deleted', async () => {
    const spoke = await hub.spoke('kept');
    const actions = { afterCompletion: { deleteObjects: false } };
    const upgrade = await hub.upgrade('kept', { ...TEMPLATES, actions }, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    await runStep(worker, await hub.store('kept', ended()), spoke);
    expect(await hub.works(spoke)).toHaveLength(1);

    const ref = { namespace: 'default', name: 'kept' };
    await hub.client.patch(ClusterGroupUpgrade, ref, { metadata: { finalizers: ['test.io/hold'] } }, { type: 'merge' });
    await hub.client.delete(ClusterGroupUpgrade, ref);
    await eventually(() => worker.caches.upgrades.get(ref)?.metadata.deletionTimestamp !== undefined);
    await runStep(worker, upgrade, spoke);
    expect(await hub.works(spoke)).toEqual([]);
    await hub.client.patch(ClusterGroupUpgrade, ref, { metadata: { finalizers: null } }, { type: 'merge' });
  });

  test('a cluster that disappears gets nothing new, and its leftovers go', async () => {
    const spoke = await hub.spoke('vanished');
    const upgrade = await hub.upgrade('vanished', TEMPLATES, running({ [spoke]: at(0) }));
    await runStep(worker, upgrade, spoke);
    const moved = await hub.store('vanished', running({ [spoke]: at(1) }));
    await hub.client.delete(ManagedCluster, { name: spoke });
    await eventually(() => worker.caches.clusters.get({ name: spoke }) === undefined);
    await runStep(worker, moved, spoke);
    expect(names(await hub.works(spoke))).toEqual(['default.first']);
    await runStep(worker, await hub.store('vanished', ended()), spoke);
    expect(await hub.works(spoke)).toEqual([]);
  });
});
