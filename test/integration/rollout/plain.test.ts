import { Annotation, Label } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, Placement } from '@flotilla/api/ocm';
import { PrecacheAction, SpokeName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { expect } from 'vitest';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { testIn } from '../world.ts';
import { expectOrderlyBatches } from './orderly.ts';
import { COMPLETED, REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

const NO_EDITS = { actions: { afterCompletion: {} } };

const test = testIn(() => {
  const fleets = {
    whole: 5,
    shape: 2,
    done: 2,
    half: 2,
    placed: 3,
    edits: 2,
    kept: 1,
    late: 2,
    unnamed: 1,
    sequence: 1,
    hidden: 2,
    ended: 1,
  };
  return RolloutWorld.start({ spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

test.concurrent('two policies go through a canary and two batches, in order, and nothing is left on the hub', async ({ world }) => {
  const clusters = spokeNames(5, 'whole');
  await world.policies(clusters, { 'whole-base': {}, 'whole-app': {} });
  const strategy = { canaries: ['whole-3'], maxConcurrency: 2, timeout: 240 };
  await world.upgrade('whole', clusters, ['whole-base', 'whole-app'], { remediationStrategy: strategy });
  await world.untilCompleted('whole');

  const { status } = (await world.get('whole')) ?? {};
  expect(world.history('whole').plan()).toEqual([['whole-3'], ['whole-1', 'whole-2'], ['whole-4', 'whole-5']]);
  expect(status?.remediationPlan).toEqual(world.history('whole').plan());
  expect(status?.computedMaxConcurrency).toBe(2);
  expect(status?.managedPoliciesForUpgrade?.map(({ name }) => name)).toEqual(['whole-base', 'whole-app']);
  expect((await world.recorded('whole')).sort()).toEqual(clusters.map((cluster) => `${cluster}: complete`));
  expect(status?.status).toEqual({ startedAt: expect.any(String), completedAt: expect.any(String) });
  expect(status?.conditions?.map(({ type }) => type)).toEqual(['Ready', 'ClustersSelected', 'Validated', 'Progressing', 'Succeeded']);
  expect(world.history('whole').texts('Progressing').slice(-2)).toEqual([REMEDIATING, `False ${COMPLETED}`]);
  for (const cluster of clusters) await world.untilReleased('whole-base', cluster);
  await expectOrderlyBatches(world, 'whole');
  for (const cluster of clusters) {
    const [base = 0, app = 0] = [world.happenedAt('whole-base', cluster, 'Compliant'), world.happenedAt('whole-app', cluster, 'enforced')];
    expect(app, `${cluster}: the second policy waits for the first`).toBeGreaterThan(base);
    const [done = 0, released = 0] = [
      world.happenedAt('whole-app', cluster, 'Compliant'),
      world.happenedAt('whole-base', cluster, 'released'),
    ];
    expect(released, `${cluster}: the first stays enforced while the second is not done`).toBeGreaterThan(done);
  }
  await world.untilObjectsGone('whole');
  expect(status?.safeResourceNames ?? {}).toEqual({});
  for (const cluster of clusters) await eventually(async () => (await world.actionOn('whole-app', cluster)) === 'inform');
});

test.concurrent('events tell of every start and end once', async ({ world }) => {
  await eventually(async () => (await world.events('whole')).includes('CguSuccess RemediationCompleted'), 'the last event', 60_000);
  const times = (count: number, text: string) => Array.from({ length: count }, () => text);
  expect(await world.events('whole')).toEqual(
    [
      'CguCreated BuildingRemediationPlan',
      ...times(3, 'CguStarted RemediationInBatchStarted'),
      ...times(5, 'CguStarted RemediationInClusterStarted'),
      'CguStarted RemediationStarted',
      ...times(3, 'CguSuccess RemediationInBatchCompleted'),
      ...times(5, 'CguSuccess RemediationInClusterCompleted'),
      'CguSuccess RemediationCompleted',
    ].sort(),
  );
});

test.concurrent('the Placement and the binding of a policy are the reference’s, and are mended', async ({ world }) => {
  const clusters = spokeNames(2, 'shape');
  await world.policies(clusters, { 'shape-p': {} });
  for (const cluster of clusters) world.propagator.script('policies/shape-p', cluster, { never: true });
  await world.upgrade('shape', clusters, ['shape-p'], {}, { [Annotation.nameSuffix]: 'kuttl' });
  await eventually(async () => (await world.actionOn('shape-p', 'shape-2')) === 'enforce', 'the policy to be enforced');

  const name = 'shape-shape-p-placement-kuttl';
  const labels = {
    app: 'openshift-cluster-group-upgrades',
    [Label.upgradeName]: 'shape',
    [Label.upgradeNamespace]: 'default',
    'velero.io/exclude-from-backup': 'true',
  };
  const annotations = { 'cluster-group-upgrades-operator/rname': 'policies/shape-shape-p-placement' };
  const { placements, bindings } = await world.objectsOf('shape');
  expect(
    placements.map(({ metadata, spec }) => ({ name: metadata.name, labels: metadata.labels, annotations: metadata.annotations, spec })),
  ).toEqual([
    {
      name,
      labels: { ...labels, 'openshift-cluster-group-upgrades/forPolicy': 'shape-p' },
      annotations,
      spec: {
        predicates: [
          { requiredClusterSelector: { labelSelector: { matchExpressions: [{ key: 'name', operator: 'In', values: clusters }] } } },
        ],
        tolerations: [
          { key: 'cluster.open-cluster-management.io/unavailable', operator: 'Exists' },
          { key: 'cluster.open-cluster-management.io/unreachable', operator: 'Exists' },
        ],
      },
    },
  ]);
  expect(
    bindings.map(({ metadata, ...rest }) => ({ name: metadata.name, labels: metadata.labels, annotations: metadata.annotations, rest })),
  ).toMatchObject([
    {
      name,
      labels,
      annotations,
      rest: {
        subFilter: 'restricted',
        bindingOverrides: { remediationAction: 'enforce' },
        placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name },
        subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name: 'shape-p' }],
      },
    },
  ]);
  const { status } = (await world.get('shape')) ?? {};
  expect(status).toMatchObject({
    placements: [name],
    placementBindings: [name],
    safeResourceNames: { 'policies/shape-shape-p-placement': name },
    managedPoliciesNs: { 'shape-p': 'policies' },
  });
  // Somebody deletes it: it comes back as it was.
  await world.client.delete(Placement, { namespace: 'policies', name });
  await eventually(
    async () => {
      const [placement] = (await world.objectsOf('shape')).placements;
      return (
        placement &&
        placement.metadata.uid !== placements[0]?.metadata.uid &&
        JSON.stringify(placement.spec) === JSON.stringify(placements[0]?.spec)
      );
    },
    'the Placement to be back',
    45_000,
  );
});

test.concurrent('clusters that comply already are done at once, with their last edits', async ({ world }) => {
  const clusters = spokeNames(2, 'done');
  for (const cluster of clusters) world.propagator.script('policies/done-p', cluster, { already: true });
  await world.policies(clusters, { 'done-p': {} });
  await eventually(() => clusters.every((cluster) => world.propagator.state('policies/done-p', cluster) === 'Compliant'));
  await world.upgrade('done', clusters, ['done-p'], { actions: { afterCompletion: { addClusterLabels: { finished: 'yes' } } } });
  await world.untilCondition('done', 'Succeeded', 'True Completed: All clusters already compliant with the specified managed policies');
  expect(await world.condition('done', 'Progressing')).toBe(`False ${COMPLETED}`);
  await world.untilEnded('done');
  expect((await world.recorded('done')).sort()).toEqual(['done-1: complete', 'done-2: complete']);
  expect((await world.get('done'))?.status?.managedPoliciesCompliantBeforeUpgrade).toEqual(['done-p']);
  for (const cluster of clusters) expect((await world.labels(cluster)).finished).toBe('yes');
  for (const cluster of clusters) expect(world.happened('done-p', cluster)).toEqual(['Compliant']);
});

test.concurrent('a cluster that complies already is recorded and left out of the plan; a policy all comply with is never enforced', async ({
  world,
}) => {
  const clusters = spokeNames(2, 'half');
  world.propagator.script('policies/half-app', 'half-1', { already: true });
  for (const cluster of clusters) world.propagator.script('policies/half-base', cluster, { already: true });
  await world.policies(clusters, { 'half-base': {}, 'half-app': {} });
  await eventually(() => clusters.every((cluster) => world.propagator.state('policies/half-base', cluster) === 'Compliant'));
  await world.upgrade('half', clusters, ['half-base', 'half-app']);
  await world.untilCompleted('half');
  expect(world.history('half').plan()).toEqual([['half-2']]);
  expect((await world.recorded('half')).sort()).toEqual(['half-1: complete', 'half-2: complete']);
  expect(world.happened('half-app', 'half-1')).toEqual(['Compliant']);
  for (const cluster of clusters) expect(world.happened('half-base', cluster)).toEqual(['Compliant']);
  const { status } = (await world.get('half')) ?? {};
  expect(status?.managedPoliciesForUpgrade).toEqual([{ name: 'half-app', namespace: 'policies' }]);
});

test.concurrent('a cluster goes past policies that are not placed on it', async ({ world }) => {
  await world.policies(['placed-1', 'placed-2'], { 'placed-base': {} });
  await world.policies(['placed-2', 'placed-3'], { 'placed-app': {} });
  await world.upgrade('placed', spokeNames(3, 'placed'), ['placed-base', 'placed-app']);
  await world.untilCompleted('placed');
  expect(world.happened('placed-base', 'placed-3')).toEqual([]);
  expect(world.happened('placed-app', 'placed-1')).toEqual([]);
  expect(world.history('placed').progressOf('placed-3')).not.toContain('InProgress 0');
  for (const cluster of ['placed-2', 'placed-3']) expect(world.happened('placed-app', cluster)).toContain('Compliant');
});

test.concurrent('labels and annotations are edited before the start and after each completion', async ({ world }) => {
  const clusters = spokeNames(2, 'edits');
  await world.client.patch(ManagedCluster, { name: 'edits-1' }, { metadata: { labels: { stale: 'x', old: 'y' } } }, { type: 'merge' });
  await world.policies(clusters, { 'edits-p': {} });
  world.propagator.script('policies/edits-p', 'edits-2', { never: true });
  await world.upgrade('edits', clusters, ['edits-p'], {
    actions: {
      beforeEnable: { addClusterLabels: { upgrading: '', 'site/phase': 'one' }, removeClusterLabels: ['stale'] },
      afterCompletion: {
        addClusterLabels: { 'site/phase': 'two', upgraded: '' },
        deleteClusterLabels: { old: 'whatever' },
        removeClusterLabels: ['upgrading'],
        addClusterAnnotations: { 'site/note': 'done' },
      },
    },
  });
  await eventually(async () => (await world.recorded('edits')).includes('edits-1: complete'), 'the first to be complete', 60_000);
  const [first, second] = await Promise.all(clusters.map((cluster) => world.labels(cluster)));
  expect(first).toEqual({ name: 'edits-1', 'site/phase': 'two', upgraded: '' });
  expect(second).toEqual({ name: 'edits-2', 'site/phase': 'one', upgrading: '' });
  const annotations = (await world.client.get(ManagedCluster, { name: 'edits-1' }))?.metadata.annotations;
  expect(annotations).toMatchObject({ 'site/note': 'done' });
  world.propagator.script('policies/edits-p', 'edits-2', {});
  await world.untilCompleted('edits');
  expect(await world.labels('edits-2')).toEqual({ name: 'edits-2', 'site/phase': 'two', upgraded: '' });
});

test.concurrent('deleteObjects: false keeps the Placements, without clusters', async ({ world }) => {
  await world.policies(['kept-1'], { 'kept-p': {} });
  await world.upgrade('kept', ['kept-1'], ['kept-p'], { actions: { afterCompletion: { deleteObjects: false } } });
  await world.untilCompleted('kept');
  const { placements, bindings } = await world.objectsOf('kept');
  expect([placements.length, bindings.length]).toEqual([1, 1]);
  await world.delete('kept');
  await eventually(async () => (await world.get('kept')) === undefined, 'the upgrade to be gone');
  await world.untilObjectsGone('kept');
});

test.concurrent('an upgrade that is not enabled says so, prepares, and starts when it is', async ({ world }) => {
  const clusters = spokeNames(2, 'late');
  await world.policies(clusters, { 'late-p': {} });
  await world.upgrade('late', clusters, ['late-p'], { enable: false });
  await world.untilCondition('late', 'Progressing', 'False NotEnabled: Not enabled');
  await eventually(async () => (await world.objectsOf('late')).placements.length === 1, 'the Placement');
  expect((await world.objectsOf('late')).bindings).toEqual([]);
  const { status } = (await world.get('late')) ?? {};
  expect(status?.remediationPlan).toEqual([clusters]);
  expect(status?.status.startedAt).toBeUndefined();
  for (const cluster of clusters) expect(world.happened('late-p', cluster)).toEqual(['NonCompliant']);
  await world.edit('late', { enable: true });
  await world.untilCompleted('late');
});

test.concurrent('a cluster without the label that Placements select by gets it', async ({ world }) => {
  const labels = { name: null, site: 'unnamed' };
  await world.client.patch(ManagedCluster, { name: 'unnamed-1' }, { metadata: { labels } }, { type: 'merge' });
  await placePolicy(world.client, 'unnamed-p', { clusters: ['unnamed-1'] });
  const labelSelector = { matchLabels: { site: 'unnamed' } };
  await world.client.patch(
    Placement,
    { namespace: 'policies', name: 'unnamed-p' },
    { spec: { predicates: [{ requiredClusterSelector: { labelSelector } }] } },
    { type: 'merge' },
  );
  await world.untilRolledUp('policies/unnamed-p', 1);
  await world.upgrade('unnamed', ['unnamed-1'], ['unnamed-p'], NO_EDITS);
  await world.untilCompleted('unnamed');
  expect(await world.labels('unnamed-1')).toEqual({ name: 'unnamed-1', site: 'unnamed' });
});

test.concurrent('a policy that depends on one to come later is refused, until the order is right', async ({ world }) => {
  await world.policies(['sequence-1'], { 'sequence-base': {}, 'sequence-app': { dependencies: ['sequence-base'] } });
  await world.upgrade('sequence', ['sequence-1'], ['sequence-app', 'sequence-base']);
  const why = 'Managed Policy sequence-app depends on sequence-base, which is to be remediated later';
  await world.untilCondition('sequence', 'Validated', `False UnresolvableDenpendency: ${why}`);
  expect(world.happened('sequence-base', 'sequence-1')).toEqual(['NonCompliant']);
  await world.edit('sequence', { managedPolicies: ['sequence-base', 'sequence-app'] });
  await world.untilCompleted('sequence');
  expect(await world.condition('sequence', 'Validated')).toBe('True ValidationCompleted: Completed validation');
  expect(world.happened('sequence-app', 'sequence-1')).toContain('Compliant');
});

test.concurrent('a policy of the same name in two namespaces is refused, until one is gone', async ({ world }) => {
  const clusters = spokeNames(2, 'hidden');
  await world.policies(clusters, { 'hidden-p': {} });
  await placePolicy(world.client, 'hidden-p', { namespace: 'other-policies', clusters: ['hidden-2'] });
  await world.untilRolledUp('other-policies/hidden-p', 1);
  await world.upgrade('hidden', clusters, ['hidden-p']);
  const found = '{"hidden-p":["other-policies","policies"]}';
  await world.untilCondition(
    'hidden',
    'Validated',
    `False AmbiguousManagedPoliciesNames: Managed policy name should be unique, but was found in multiple namespaces: ${found} `,
  );
  await world.client.delete(Placement, { namespace: 'other-policies', name: 'hidden-p' });
  await world.untilCompleted('hidden');
});

test.concurrent('what a late step writes after the end of its upgrade is removed, and keeps no other upgrade away', async ({ world }) => {
  const caching = { preCaching: true, preCachingConfigRef: { name: 'config' } };
  await world.policies(['ended-1'], { 'ended-p': {} });
  await world.upgrade('ended', ['ended-1'], ['ended-p'], caching);
  await world.untilCompleted('ended');
  await world.untilClean(['ended-1']);
  const { uid = '' } = (await world.get('ended'))?.metadata ?? {};
  const metadata = {
    name: PrecacheAction.deleteNamespace,
    namespace: 'ended-1',
    labels: workLabels({ namespace: 'default', name: 'ended', uid }, 'precache'),
    annotations: { 'flotilla.io/deletes': 'after' },
  };
  const spec = { actionType: 'Delete', kube: { resource: 'namespace', name: SpokeName.namespace } } as const;
  await world.client.create(ManagedClusterAction, { metadata, spec });
  await world.untilClean(['ended-1']);
  await world.policies(['ended-1'], { 'next-p': {} });
  await world.upgrade('next', ['ended-1'], ['next-p'], caching);
  await world.untilCompleted('next');
  expect(world.spokes.jobsCreated('ended-1')).toHaveLength(2);
});
