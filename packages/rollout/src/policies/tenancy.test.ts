import { CLUSTER_SET_LABEL, ManagedClusterSet, ManagedClusterSetBinding } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { buildChild, buildManagedCluster, buildPolicy } from '../../testing/policy-builders.ts';
import { clusterPatch, findEditProblem } from '../clusters/cluster-edits.ts';
import { selectClusters } from '../clusters/cluster-selection.ts';
import { decidingLabels, judgeTenancy } from '../clusters/tenancy.ts';
import { examinePolicies } from './policies.ts';
import { objectDefinitions } from './policy-structure.ts';

const fleet = [
  buildManagedCluster('own-1', { [CLUSTER_SET_LABEL]: 'blue', site: 'north' }),
  buildManagedCluster('own-2', { [CLUSTER_SET_LABEL]: 'blue', site: 'south' }),
  buildManagedCluster('other', { [CLUSTER_SET_LABEL]: 'red', site: 'north' }),
  buildManagedCluster('free', { site: 'north' }),
];
const binding = (clusterSet: string, metadata: Record<string, unknown> = {}) =>
  ManagedClusterSetBinding.schema.parse({ metadata: { namespace: 'tenant', name: clusterSet, ...metadata }, spec: { clusterSet } });
const clusterSet = (name: string, clusterSelector?: Record<string, unknown>, metadata: Record<string, unknown> = {}) =>
  ManagedClusterSet.schema.parse({ metadata: { name, ...metadata }, spec: { clusterSelector } });
const reached = (bindings: ManagedClusterSetBinding[], sets: ManagedClusterSet[]) => {
  const tenancy = judgeTenancy('tenant', bindings, (name) => sets.find(({ metadata }) => metadata.name === name));
  return fleet.filter(tenancy.reaches).map(({ metadata }) => metadata.name);
};

describe('the clusters of a namespace', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const byLabels = (labelSelector?: unknown) => ({ selectorType: 'LabelSelector', ...(labelSelector !== undefined && { labelSelector }) });
  test.each([
    { name: 'none without a binding', bindings: [], sets: [clusterSet('blue')], want: [] },
    { name: 'those with the label of the set', bindings: [binding('blue')], sets: [clusterSet('blue')], want: ['own-1', 'own-2'] },
    {
      name: 'those of a set of type ExclusiveClusterSetLabel',
      bindings: [binding('red')],
      sets: [clusterSet('red', { selectorType: 'ExclusiveClusterSetLabel' })],
      want: ['other'],
    },
    {
      name: 'of all sets',
      bindings: [binding('blue'), binding('red')],
      sets: ['blue', 'red'].map((each) => clusterSet(each)),
      want: ['own-1', 'own-2', 'other'],
    },
    { name: 'none of a set that does not exist', bindings: [binding('blue')], sets: [], want: [] },
    {
      name: 'none by a binding that is being deleted',
      bindings: [binding('blue', { deletionTimestamp })],
      sets: [clusterSet('blue')],
      want: [],
    },
    {
      name: 'none of a set that is being deleted',
      bindings: [binding('blue')],
      sets: [clusterSet('blue', undefined, { deletionTimestamp })],
      want: [],
    },
    {
      name: 'those a label selector finds',
      bindings: [binding('north')],
      sets: [clusterSet('north', byLabels({ matchLabels: { site: 'north' } }))],
      want: ['own-1', 'other', 'free'],
    },
    {
      name: 'all by an empty label selector',
      bindings: [binding('global')],
      sets: [clusterSet('global', byLabels({}))],
      want: fleet.map(({ metadata }) => metadata.name),
    },
    { name: 'none without the label selector', bindings: [binding('global')], sets: [clusterSet('global', byLabels())], want: [] },
    {
      name: 'none by a selector that cannot be read',
      bindings: [binding('global')],
      sets: [clusterSet('global', byLabels({ matchExpressions: [{ key: 'site', operator: 'Near', values: ['north'] }] }))],
      want: [],
    },
    { name: 'none by a type nobody knows', bindings: [binding('blue')], sets: [clusterSet('blue', { selectorType: 'Legacy' })], want: [] },
  ])('$name', ({ bindings, sets, want }) => expect(reached(bindings, sets)).toEqual(want));
});

describe('labels that decide whose a cluster is', () => {
  const byLabels = (labelSelector: unknown) => ({ selectorType: 'LabelSelector', labelSelector });
  const sets = [
    clusterSet('north', byLabels({ matchLabels: { site: 'north' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] })),
    clusterSet('unbound', byLabels({ matchLabels: { other: 'x' } })),
    clusterSet('leaving', byLabels({ matchLabels: { later: 'x' } }), { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    clusterSet('blue'),
  ];
  const bindings = ['north', 'leaving', 'blue', 'nowhere'].map((name) => binding(name, { namespace: `of-${name}` }));
  const deciding = decidingLabels(bindings, (name) => sets.find(({ metadata }) => metadata.name === name));

  test('are those of every set that is bound to any namespace', () => expect([...deciding]).toEqual(['site', 'tier', 'later']));

  test.each([
    { name: 'added', edits: { addClusterLabels: { site: 'south' } } },
    { name: 'removed', edits: { removeClusterLabels: ['tier'] } },
    { name: 'removed in the old way', edits: { deleteClusterLabels: { site: '' } } },
  ])('are not $name by an upgrade, not even by an edit after its validation', ({ edits }) => {
    expect(findEditProblem(edits, 'spec.actions.afterCompletion', deciding)).toMatch(
      /^spec\.actions\.afterCompletion\.\w+: label "(site|tier)" may not be edited/,
    );
    const cluster = buildManagedCluster('own-1', { site: 'north', tier: 'gold' });
    expect(clusterPatch(cluster, edits, { decidingLabels: deciding })).toBeUndefined();
    expect(clusterPatch(cluster, edits)).toBeDefined();
  });

  test('other labels, and annotations of the same key, are edited', () => {
    const edits = { addClusterLabels: { mine: 'x', other: 'y' }, addClusterAnnotations: { site: 'any' } };
    expect(findEditProblem(edits, 'spec.actions.beforeEnable', deciding)).toBeUndefined();
    const patch = clusterPatch(buildManagedCluster('own-1', {}), edits, {
      nameLabel: true,
      decidingLabels: new Set([...deciding, 'name']),
    });
    expect(patch?.metadata).toMatchObject({ labels: { name: 'own-1', mine: 'x', other: 'y' }, annotations: { site: 'any' } });
  });
});

describe('what an upgrade of a tenant selects', () => {
  const tenancy = judgeTenancy('tenant', [binding('blue')], (name) => clusterSet(name));
  const refusal = (cluster: string) => ({
    failure: {
      reason: 'ClusterNotBound',
      message: `Unable to select clusters: cluster ${cluster} is in no cluster set that is bound to namespace tenant; have the set of the cluster bound by a ManagedClusterSetBinding in namespace tenant, or take another cluster`,
      missing: [cluster],
    },
  });

  test('its own clusters, in its order', () =>
    expect(selectClusters({ clusters: ['own-2', 'own-1'] }, fleet, tenancy)).toEqual({ clusters: ['own-2', 'own-1'] }));
  test("not another tenant's", () => expect(selectClusters({ clusters: ['own-1', 'other'] }, fleet, tenancy)).toEqual(refusal('other')));
  test('and is told the same of one that does not exist', () =>
    expect(selectClusters({ clusters: ['nobody'] }, fleet, tenancy)).toEqual(refusal('nobody')));
  test('by a selector only what it reaches', () => {
    expect(selectClusters({ clusterLabelSelectors: [{}] }, fleet, tenancy)).toEqual({ clusters: ['own-1', 'own-2'] });
    expect(selectClusters({ clusterSelector: ['site=north'] }, fleet, tenancy)).toEqual({ clusters: ['own-1'] });
  });
  test('nothing by a selector in a namespace with no clusters, and is told so', () =>
    expect(
      selectClusters(
        { clusterLabelSelectors: [{}] },
        fleet,
        judgeTenancy('bare', [], () => undefined),
      ),
    ).toEqual({
      failure: {
        reason: 'ClusterNotBound',
        message:
          'Unable to select clusters: no cluster set that has clusters is bound to namespace bare; have one bound by a ManagedClusterSetBinding there',
      },
    }));
});

test('policies of other namespaces neither count nor make a name ambiguous', () => {
  const [own, foreign, secret] = [buildPolicy('p', { namespace: 'tenant' }), buildPolicy('p'), buildPolicy('secret')];
  const parents = [own, foreign, secret];
  const examine = (namespace?: string) =>
    examinePolicies({
      read: objectDefinitions,
      managedPolicies: ['p', 'secret'],
      clusters: ['own-1'],
      children: parents.map((parent) => buildChild(parent, 'own-1')),
      parents: (ns, name) => parents.find(({ metadata }) => metadata.namespace === ns && metadata.name === name),
      namespace,
    });
  expect(examine('tenant')).toMatchObject({ namespaces: { p: 'tenant' }, missing: [{ name: 'secret' }], ambiguous: {} });
  expect(examine()).toMatchObject({ ambiguous: { p: ['policies', 'tenant'] }, missing: [] });
});
