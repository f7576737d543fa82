import { FeedbackMode } from '@flotilla/agent';
import { Annotation, Label } from '@flotilla/api';
import { ManifestWork, ManifestWorkReplicaSet, type ManifestWorkSpec } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { createTemplate, readyReplicas, templateOf } from '../../fixtures/work-templates.ts';
import { eachAttempt } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

const ROLLING_OUT = 'True InProgress: Rolling out manifestworks';
const ROLLED_OUT = 'Completed: All manifestworks rolled out successfully on all clusters';
const TOO_LONG = 'False TimedOut: Manifestwork rollout took too long';

/** A work that came or went, as a watch saw it. */
interface WorkEvent {
  readonly what: 'created' | 'deleted';
  readonly cluster: string;
  /** Name of its template. */
  readonly template: string;
}

let world: RolloutWorld;
let events: WorkEvent[] = [];
let stop = new AbortController();

// The stock agent reads values back right after applying, ours once they are of what was applied.
describe.each(FeedbackMode)('with agents whose feedback is %s', (feedback) => {
  eachAttempt(
    async () => {
      events = [];
      stop = new AbortController();
      const fleets = { all: 5, seq: 3, never: 2, abort: 2, late: 1, bad: 1, keep: 1, drop: 1, kill: 3, away: 2, next: 2, edit: 2 };
      world = await RolloutWorld.start({
        spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
        simulated: { work: { seconds: 0.5, jitter: 0 }, workCadence: { statusSyncMs: 500, resyncMs: 240_000, feedback } },
      });
      const works = new WatchCache(world.client, ManifestWork, {});
      works.subscribe(({ type, object: { metadata }, ...change }) => {
        const seen = { cluster: metadata.namespace ?? '', template: templateOf(metadata.name) };
        if (type === 'deleted') events.push({ what: 'deleted', ...seen });
        else if (!change.previous) events.push({ what: 'created', ...seen });
      });
      works.start(stop.signal);
    },
    async () => {
      stop.abort();
      await world?.stop();
    },
  );

  const template = (name: string, expected?: string, spec?: Partial<ManifestWorkSpec>) =>
    createTemplate(world.client, name, { expected, spec });
  const roll = (name: string, clusters: readonly string[], manifestWorkTemplates: readonly string[], spec: Record<string, unknown> = {}) =>
    world.upgrade(name, clusters, [], { manifestWorkTemplates, ...spec });

  async function untilRolledOut(name: string): Promise<void> {
    await world.untilCondition(name, 'Succeeded', `True ${ROLLED_OUT}`);
    expect(await world.condition(name, 'Progressing')).toBe(`False ${ROLLED_OUT}`);
    await world.untilEnded(name);
  }

  const worksOn = async (cluster: string) => (await world.client.list(ManifestWork, { namespace: cluster })).items;
  const happenedOn = (cluster: string) =>
    events.filter((each) => each.cluster === cluster).map(({ what, template: of }) => `${of} ${what}`);
  const deploymentOn = (cluster: string, name: string) => {
    const store = world.spokes.store(cluster);
    const served = store.kinds.find(({ kind }) => kind === 'Deployment');
    return served && store.read(served, 'default', name);
  };

  test.concurrent('a template is rolled out in batches, canary first, and cleaned up', async () => {
    const clusters = spokeNames(5, 'all');
    await template('all-t');
    const actions = { afterCompletion: { addClusterLabels: { 'rolled-out': '' } } };
    const remediationStrategy = { maxConcurrency: 2, canaries: ['all-3'] };
    await roll('all', clusters, ['all-t'], { actions, remediationStrategy });
    await eventually(async () => (await worksOn('all-3')).length === 1);
    const [work] = await worksOn('all-3');
    expect(work?.metadata.name).toMatch(/^default\.all-t-[a-z0-9]{5}$/);
    expect(work?.metadata.labels).toMatchObject({ [Label.upgradeName]: 'all', [Label.upgradeNamespace]: 'default' });
    expect(work?.metadata.annotations).toEqual({ [Annotation.expectedValues]: readyReplicas('2') });

    await untilRolledOut('all');
    const history = world.history('all');
    expect(history.plan()).toEqual([['all-3'], ['all-1', 'all-2'], ['all-4', 'all-5']]);
    expect(history.batchStarts().map(({ batch }) => batch)).toEqual([1, 2, 3]);
    for (const { batch, clusters: busy } of history.inProgress())
      for (const each of busy) expect(history.plan()[batch - 1]).toContain(each);
    expect(history.progressOf('all-3')).toEqual(['InProgress 0', 'Completed']);
    expect(history.texts('Progressing')).toEqual([ROLLING_OUT, `False ${ROLLED_OUT}`]);
    expect(history.sights.find(({ status }) => status.status.currentBatch === 1)?.status.safeResourceNames).toEqual({
      '/default.all-t': work?.metadata.name,
    });

    expect((await world.recorded('all')).toSorted()).toEqual(clusters.map((each) => `${each}: complete`));
    for (const cluster of clusters) {
      expect(await world.labels(cluster)).toHaveProperty('rolled-out');
      await eventually(async () => (await worksOn(cluster)).length === 0);
      expect(happenedOn(cluster)).toEqual(['all-t created', 'all-t deleted']);
    }
    // No work of a batch is there before every cluster of the one before was done.
    const order = events.filter(({ what, cluster }) => what === 'created' && clusters.includes(cluster)).map(({ cluster }) => cluster);
    expect(order[0]).toBe('all-3');
    expect(order.slice(1, 3).toSorted()).toEqual(['all-1', 'all-2']);
  });

  test.concurrent('templates follow one another on each cluster; the next work comes when the one before is gone', async () => {
    await Promise.all(['seq-a', 'seq-b', 'seq-c'].map((name) => template(name)));
    await roll('seq', spokeNames(3, 'seq'), ['seq-a', 'seq-b', 'seq-c']);
    await untilRolledOut('seq');
    for (const cluster of spokeNames(3, 'seq')) {
      await eventually(() => happenedOn(cluster).length === 6);
      expect(happenedOn(cluster)).toEqual(['seq-a', 'seq-b', 'seq-c'].flatMap((name) => [`${name} created`, `${name} deleted`]));
      expect(world.history('seq').progressOf(cluster).at(-1)).toBe('Completed');
    }
  });

  test.concurrent('a version that replaces another is done when its own pods are ready, however late they come', async () => {
    const orphan = { deleteOption: { propagationPolicy: 'Orphan' } };
    for (const version of [1, 2])
      await createTemplate(world.client, `next-${version}`, {
        deployment: { name: 'next', image: `registry.test/app:${version}` },
        spec: orphan,
      });
    await roll('next-first', spokeNames(2, 'next'), ['next-1']);
    await untilRolledOut('next-first');
    world.spokes.setFaults('next-1', { workSeconds: 4 });
    await roll('next-second', spokeNames(2, 'next'), ['next-2'], { remediationStrategy: { maxConcurrency: 1 } });
    const complete = async () => (await world.recorded('next-second')).includes('next-1: complete');
    await eventually(complete, 'next-1 to complete', 60_000);
    expect(deploymentOn('next-1', 'next')).toMatchObject({ metadata: { generation: 2 }, status: { observedGeneration: 2 } });
    await untilRolledOut('next-second');
    expect(deploymentOn('next-2', 'next')).toMatchObject({ metadata: { generation: 2 }, status: { observedGeneration: 2 } });
  });

  test.concurrent('a template that is edited while it runs, or made again, goes to nobody further; put back it goes on', async () => {
    const ref = { namespace: 'default', name: 'edit-t' };
    await template('edit-t');
    const [first] = (await world.client.list(ManifestWorkReplicaSet, {})).items.filter(({ metadata }) => metadata.name === 'edit-t');
    world.spokes.setFaults('edit-1', { workSeconds: 3 });
    await roll('edit', spokeNames(2, 'edit'), ['edit-t'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
    await eventually(async () => (await worksOn('edit-1')).length === 1, 'the first work');
    await world.client.patch(
      ManifestWorkReplicaSet,
      ref,
      { metadata: { annotations: { [Annotation.expectedValues]: readyReplicas('1') } } },
      { type: 'merge' },
    );
    await world.untilCondition('edit', 'Progressing', /^True TemplateChanged: ManifestWorkReplicaSet default\/edit-t is not what/);
    await eventually(async () => (await world.recorded('edit')).join() === 'edit-1: complete', 'the first cluster to complete');
    expect((await world.get('edit'))?.status?.messages?.['(upgrade)']).toMatch(
      /^waits \(work\) since \S+: .* to go on: put it back as it was/,
    );

    await world.client.delete(ManifestWorkReplicaSet, ref);
    await world.untilCondition('edit', 'Progressing', /TemplateChanged: ManifestWorkReplicaSet default\/edit-t is gone/);
    expect(happenedOn('edit-2')).toEqual([]);
    await world.client.create(ManifestWorkReplicaSet, {
      metadata: { ...ref, annotations: first?.metadata.annotations },
      spec: first?.spec,
    });
    await untilRolledOut('edit');
    expect(happenedOn('edit-2')).toContain('edit-t created');
  });

  test.concurrent('a value that never comes ends in a time-out that says what was reported', async () => {
    await template('never-t', readyReplicas('3'));
    await roll('never', spokeNames(2, 'never'), ['never-t']);
    const reported = async () => {
      const [work] = await worksOn('never-1');
      return work?.status?.resourceStatus?.manifests?.[0]?.statusFeedback?.values?.some(
        ({ name, fieldValue }) => name === 'ReadyReplicas' && fieldValue.integer === 2,
      );
    };
    await eventually(reported, 'the replicas to be reported');
    expect(await world.condition('never', 'Progressing')).toBe(ROLLING_OUT);
    await world.edit('never', { remediationStrategy: { timeout: 0 } });
    await world.untilCondition('never', 'Succeeded', TOO_LONG);
    expect(await world.condition('never', 'Progressing')).toBe(TOO_LONG);
    await world.untilEnded('never');

    const [record] = (await world.get('never'))?.status?.clusters ?? [];
    expect(record).toMatchObject({ name: 'never-1', state: 'timedout', currentManifestWork: { name: 'never-t' } });
    expect(record?.currentManifestWork?.status).toMatchObject({
      manifests: [
        {
          resourceMeta: { ordinal: 0, kind: 'Deployment', name: 'never-t', namespace: 'default' },
          conditions: [{ type: 'Applied', status: 'True' }],
          statusFeedback: { values: expect.arrayContaining([{ name: 'ReadyReplicas', fieldValue: { type: 'Integer', integer: 2 } }]) },
        },
      ],
    });
    for (const cluster of spokeNames(2, 'never')) await eventually(async () => (await worksOn(cluster)).length === 0);
  });

  test.concurrent('a manifest that cannot be applied is what the time-out of its cluster says', async () => {
    world.spokes.setFaults('abort-1', { failWork: 'quota exceeded' });
    await template('abort-t');
    await roll('abort', spokeNames(2, 'abort'), ['abort-t']);
    await eventually(async () => (await world.recorded('abort')).includes('abort-2: complete'), 'the other cluster to complete');
    await world.edit('abort', { remediationStrategy: { timeout: 0 } });
    await world.untilCondition('abort', 'Succeeded', TOO_LONG);
    const record = (await world.get('abort'))?.status?.clusters?.find(({ name }) => name === 'abort-1');
    expect(record?.state).toBe('timedout');
    expect(JSON.stringify(record?.currentManifestWork?.status)).toContain('quota exceeded');
  });

  test.concurrent('a template that is missing is named, and waited for', async () => {
    await roll('late', ['late-1'], ['late-t', 'late-u']);
    await world.untilCondition('late', 'Validated', 'False NotAllManifestTemplatesExist: Missing manifest templates: [late-t late-u]');
    await template('late-u');
    await world.untilCondition('late', 'Validated', 'False NotAllManifestTemplatesExist: Missing manifest templates: [late-t]');
    expect(await worksOn('late-1')).toEqual([]);
    await template('late-t');
    await untilRolledOut('late');
  });

  test.concurrent('expected values that cannot be read are named before anything is created', async () => {
    await template('bad-t', '[{"manifestIndex":0,"name":"ReadyReplicas","value":[2]}]');
    await roll('bad', ['bad-1'], ['bad-t']);
    await world.untilCondition(
      'bad',
      'Validated',
      /^False InvalidManifestTemplate: .*ManifestWorkReplicaSet default\/bad-t: annotation openshift-cluster-group-upgrades\/expectedValues .* is malformed at \[0\]\.value: expected/,
    );
    expect(await worksOn('bad-1')).toEqual([]);
    const annotations = { [Annotation.expectedValues]: readyReplicas('2') };
    await world.client.patch(
      ManifestWorkReplicaSet,
      { namespace: 'default', name: 'bad-t' },
      { metadata: { annotations } },
      { type: 'merge' },
    );
    await untilRolledOut('bad');
  });

  test.concurrent('works that are to be kept stay until the upgrade is deleted', async () => {
    await template('keep-t');
    await roll('keep', ['keep-1'], ['keep-t'], { actions: { afterCompletion: { deleteObjects: false } } });
    await untilRolledOut('keep');
    expect(await worksOn('keep-1')).toHaveLength(1);
    expect(deploymentOn('keep-1', 'keep-t')).toBeDefined();
    await world.delete('keep');
    await eventually(async () => (await world.get('keep')) === undefined, 'the upgrade to be gone');
    expect(await worksOn('keep-1')).toEqual([]);
    expect(deploymentOn('keep-1', 'keep-t')).toBeUndefined();
  });

  test.concurrent('an upgrade that is deleted while it runs takes its works with it; orphans stay on the cluster', async () => {
    await template('drop-t', readyReplicas('3'), { deleteOption: { propagationPolicy: 'Orphan' } });
    await roll('drop', ['drop-1'], ['drop-t']);
    await eventually(() => deploymentOn('drop-1', 'drop-t') !== undefined, 'the work to be applied');
    await world.delete('drop');
    await eventually(async () => (await world.get('drop')) === undefined, 'the upgrade to be gone');
    expect(await worksOn('drop-1')).toEqual([]);
    expect(deploymentOn('drop-1', 'drop-t')).toBeDefined();
  });

  test.concurrent('a cluster that is away holds its batch, not the others', async () => {
    await world.setAvailable('away-1', false);
    await template('away-t');
    await roll('away', spokeNames(2, 'away'), ['away-t']);
    await eventually(async () => (await world.recorded('away')).includes('away-2: complete'), 'the other cluster to complete');
    expect(await world.recorded('away')).toEqual(['away-2: complete']);
    await world.setAvailable('away-1', true);
    await untilRolledOut('away');
  });

  test('a hub that ends in the middle: the next one goes on where it was', async () => {
    await Promise.all(['kill-a', 'kill-b'].map((name) => template(name)));
    const clusters = spokeNames(3, 'kill');
    await roll('kill', clusters, ['kill-a', 'kill-b'], { remediationStrategy: { maxConcurrency: 2 } });
    await eventually(() => happenedOn('kill-1').includes('kill-b created'));
    await world.hub?.stop();
    await world.startHub();
    await untilRolledOut('kill');
    for (const cluster of clusters) {
      await eventually(() => happenedOn(cluster).length === 4);
      expect(happenedOn(cluster)).toEqual(['kill-a created', 'kill-a deleted', 'kill-b created', 'kill-b deleted']);
      expect(deploymentOn(cluster, 'kill-a')).toBeUndefined();
    }
  });
});
