import { Label } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { buildChild, buildPolicy, clusterVersion } from '../../testing/policy-builders.ts';
import { planBatches } from '../batches/batches.ts';
import { createComplianceTest, examinePolicies } from './policies.ts';
import { objectDefinitions } from './policy-structure.ts';
import { indexCompliance } from './standing.ts';

const clusters = ['spoke-1', 'spoke-2'];

/** Examines `managed`, with each of `parents` placed on both clusters unless `children` says otherwise. */
function examine(
  managed: string[],
  parents: Policy[],
  children = parents.flatMap((parent) => clusters.map((each) => buildChild(parent, each))),
) {
  const found = examinePolicies({
    read: objectDefinitions,
    managedPolicies: managed,
    clusters,
    children,
    parents: (namespace, name) => parents.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  });
  const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);
  const { enforced, missing, invalid, ambiguous, namespaces } = found;
  return {
    found,
    names: {
      forUpgrade: names(found.forUpgrade),
      compliantBefore: names(found.compliantBefore),
      enforced,
      missing: names(missing),
      invalid,
      ambiguous,
      namespaces,
    },
  };
}
const nothing = { forUpgrade: [], compliantBefore: [], enforced: [], missing: [], invalid: [], ambiguous: {}, namespaces: {} };
const upgraded = (name: string, namespace = 'policies') => ({ ...nothing, forUpgrade: [name], namespaces: { [name]: namespace } });
const all = (compliant: string) => Object.fromEntries(clusters.map((each) => [each, compliant]));
const withStatus = { ...clusterVersion({}), status: { history: [] } };

describe('a managed policy', () => {
  const p = buildPolicy('p');
  const elsewhere = buildPolicy('p', { namespace: 'other' });
  const copy = (cluster: string, labels: Record<string, string>) => {
    const child = buildChild(p, cluster);
    return { ...child, metadata: { ...child.metadata, labels } };
  };
  test.each<{ name: string; parents: Policy[]; children?: Policy[]; want: object }>([
    { name: 'is upgraded while nothing is reported', parents: [p], want: upgraded('p') },
    {
      name: 'is done beforehand when every cluster complies',
      parents: [buildPolicy('p', { compliant: all('Compliant') })],
      want: { ...nothing, compliantBefore: ['p'] },
    },
    {
      name: 'is upgraded when one cluster does not comply',
      parents: [buildPolicy('p', { compliant: { ...all('Compliant'), 'spoke-2': 'NonCompliant' } })],
      want: upgraded('p'),
    },
    {
      name: 'is upgraded when one cluster is not matched',
      parents: [buildPolicy('p', { compliant: { 'spoke-1': 'Compliant' } })],
      want: upgraded('p'),
    },
    {
      name: 'is upgraded when a cluster says compliant in other letters',
      parents: [buildPolicy('p', { compliant: all('compliant') })],
      want: upgraded('p'),
    },
    {
      name: 'with a status in it is never done beforehand',
      parents: [buildPolicy('p', { compliant: all('Compliant'), objects: [withStatus] })],
      want: upgraded('p'),
    },
    {
      name: 'is missing when it is on no selected cluster',
      parents: [p],
      children: [buildChild(p, 'spoke-9')],
      want: { ...nothing, missing: ['p'] },
    },
    { name: 'is missing when its parent is gone', parents: [], children: [buildChild(p, 'spoke-1')], want: { ...nothing, missing: ['p'] } },
    {
      name: 'is missing when its copies carry no root label',
      parents: [p],
      children: [copy('spoke-1', {})],
      want: { ...nothing, missing: ['p'] },
    },
    {
      name: 'is missing when its only copies were made by an upgrade',
      parents: [p],
      children: [copy('spoke-1', { [Label.rootPolicy]: 'policies.p', [Label.upgradeName]: 'cgu' })],
      want: { ...nothing, missing: ['p'] },
    },
    {
      name: 'is left alone when its author enforces it',
      parents: [buildPolicy('p', { spec: { remediationAction: 'Enforce' } })],
      want: { ...nothing, enforced: ['p'] },
    },
    {
      name: 'is upgraded when all its copies are enforced by the binding of another upgrade',
      parents: [p],
      children: clusters.map((each) => buildChild(p, each, { remediationAction: 'enforce' })),
      want: upgraded('p'),
    },
    {
      name: 'is ambiguous when two namespaces have it',
      parents: [p, elsewhere],
      want: { ...nothing, ambiguous: { p: ['other', 'policies'] } },
    },
    {
      name: 'is not ambiguous because of clusters that are not selected',
      parents: [p, elsewhere],
      children: [buildChild(p, 'spoke-1'), buildChild(elsewhere, 'spoke-9')],
      want: upgraded('p'),
    },
    {
      name: 'is not ambiguous when one of the two is enforced already',
      parents: [buildPolicy('p', { spec: { remediationAction: 'enforce' } }), elsewhere],
      want: upgraded('p', 'other'),
    },
  ])('$name', ({ parents, children, want }) => expect(examine(['p'], parents, children).names).toEqual(want));

  test('with a hub template left in a copy is invalid, and says where', () => {
    const child = buildChild(buildPolicy('p', { objects: [{ kind: 'ConfigMap', data: { a: '{{hub fromSecret hub}}' } }] }), 'spoke-2');
    expect(examine(['p'], [p], [buildChild(p, 'spoke-1'), child]).names.invalid).toEqual([
      { name: 'p', reason: 'its copy policies.p in namespace spoke-2 has a hub template that could not be resolved' },
    ]);
  });

  test('with dependencies that are no dependencies is invalid', () => {
    const hostile = buildPolicy('p', { spec: { dependencies: [{ name: 'q' }, 7] } });
    expect(examine(['p'], [hostile]).names.invalid).toEqual([{ name: 'p', reason: 'spec.dependencies[1].name is missing or no text' }]);
  });
});

test('policies keep the order of the spec, once each, and unrelated ambiguous ones do not matter', () => {
  const parents = [buildPolicy('a'), buildPolicy('b'), buildPolicy('x'), buildPolicy('x', { namespace: 'other' })];
  const { names } = examine(['b', 'gone', 'a', 'b'], parents);
  expect(names).toEqual({ ...nothing, forUpgrade: ['b', 'a'], missing: ['gone'], namespaces: { a: 'policies', b: 'policies' } });
});

test.each([
  { name: 'counts every cluster as non-compliant without a roll-up', status: {}, want: 'NonCompliant' },
  { name: 'counts a cluster that is not in the roll-up as not matched', status: { status: [] }, want: 'NotMatchedWithPolicy' },
  { name: 'counts a cluster without a value as non-compliant', status: { status: [{ clustername: 'spoke-1' }] }, want: 'NonCompliant' },
  { name: 'counts Pending as non-compliant', status: { status: [{ clustername: 'spoke-1', compliant: 'Pending' }] }, want: 'NonCompliant' },
  { name: 'counts Compliant as compliant', status: { status: [{ clustername: 'spoke-1', compliant: 'Compliant' }] }, want: 'Compliant' },
])('compliance $name', ({ status, want }) => {
  expect(indexCompliance(Policy.schema.parse({ metadata: { name: 'p' }, status }), () => false)('spoke-1')).toBe(want);
});

test('a cluster that has its copy of a policy has work to do, though the roll-up has not got to it yet', () => {
  const late = buildPolicy('p', { compliant: { 'spoke-1': 'Compliant' } });
  const [found] = examine(['p'], [late]).found.forUpgrade;
  expect(clusters.map((cluster) => found?.look(cluster).compliance)).toEqual(['Compliant', 'NonCompliant']);
});

describe('who has to be worked on', () => {
  const placed = buildPolicy('p', { compliant: { 'spoke-1': 'NonCompliant' } });
  const { found } = examine(['p'], [placed], [buildChild(placed, 'spoke-1')]);
  const precacheOnly = { preCaching: true };
  test.each<{
    name: string;
    spec: { preCaching: boolean; managedPolicies?: string[]; manifestWorkTemplates?: string[] };
    talmStrict: boolean;
    compliant: string[];
  }>([
    {
      name: 'with policies: those that do not comply',
      spec: { preCaching: true, managedPolicies: ['p'] },
      talmStrict: false,
      compliant: ['spoke-2'],
    },
    {
      name: 'with ManifestWorks: all',
      spec: { preCaching: true, managedPolicies: ['p'], manifestWorkTemplates: ['w'] },
      talmStrict: true,
      compliant: [],
    },
    { name: 'with neither, pre-caching: all', spec: precacheOnly, talmStrict: false, compliant: [] },
    { name: 'with neither, pre-caching as the reference does: none', spec: precacheOnly, talmStrict: true, compliant: clusters },
    { name: 'with neither, not pre-caching: none', spec: { preCaching: false }, talmStrict: false, compliant: clusters },
  ])('$name', ({ spec, talmStrict, compliant }) => {
    const examination = spec.managedPolicies ? found : { forUpgrade: [] };
    const isCompliant = createComplianceTest({ spec, examination, talmStrict });
    expect(clusters.filter(isCompliant)).toEqual(compliant);
  });
});

test('5,000 clusters and 10 policies are examined and planned at once', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `spoke-${index}`);
  const compliant = Object.fromEntries(many.map((each, index) => [each, index % 2 ? 'Compliant' : 'NonCompliant']));
  const parents = Array.from({ length: 10 }, (_, index) =>
    buildPolicy(`p${index}`, { compliant, objects: [clusterVersion({ channel: 'stable' })] }),
  );
  const children = parents.flatMap((parent) => many.map((each) => buildChild(parent, each)));
  const started = process.cpuUsage();
  const examination = examinePolicies({
    read: objectDefinitions,
    managedPolicies: parents.map(({ metadata }) => metadata.name),
    clusters: many,
    children,
    parents: (_, name) => parents[Number(name.slice(1))],
  });
  const isCompliant = createComplianceTest({ spec: { preCaching: true, managedPolicies: ['p0'] }, examination, talmStrict: false });
  const plan = planBatches({ clusters: many, maxConcurrency: 100, isCompliant });
  const took = process.cpuUsage(started).user / 1_000;
  console.log(`examined and planned ${many.length} clusters × ${parents.length} policies in ${took.toFixed(0)} ms of CPU`);
  expect(plan.batches).toHaveLength(25);
  expect(took).toBeLessThan(1_000);
});

test('strictly, a cluster that is not in the roll-up has nothing to do with the policy, whether or not it has a copy', () => {
  const policy = buildPolicy('p', { compliant: { 'spoke-1': 'NonCompliant' } });
  const complianceOf = (talmStrict: boolean) =>
    examinePolicies({
      read: objectDefinitions,
      managedPolicies: ['p'],
      clusters,
      children: clusters.map((each) => buildChild(policy, each)),
      parents: () => policy,
      talmStrict,
    }).forUpgrade.map(({ look }) => clusters.map((cluster) => look(cluster).compliance));
  expect(complianceOf(true)).toEqual([['NonCompliant', 'NotMatchedWithPolicy']]);
  expect(complianceOf(false)).toEqual([['NonCompliant', 'NonCompliant']]);
});

test('a policy that is still being read is neither valid nor invalid', () => {
  const parents = [buildPolicy('a'), buildPolicy('b')];
  const found = examinePolicies({
    read: (policy) => (policy.metadata.name === 'a' ? undefined : objectDefinitions(policy)),
    managedPolicies: ['a', 'b'],
    clusters,
    children: parents.map((parent) => buildChild(parent, 'spoke-1')),
    parents: (_, name) => parents.find(({ metadata }) => metadata.name === name),
  });
  expect(found.unread).toEqual(['a']);
  expect(found.forUpgrade.map(({ name }) => name)).toEqual(['b']);
  expect(found.invalid).toEqual([]);
});

test('policies that hold too many objects together are refused from the first that does', () => {
  const objects = Array.from({ length: 2_000 }, () => ({ kind: 'A' }));
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const { found } = examine(
    names,
    names.map((name) => buildPolicy(name, { objects })),
  );
  expect(found.invalid.map(({ name }) => name)).toEqual(['f', 'g']);
  expect(found.invalid[0]?.reason).toMatch(
    /^spec\.policy-templates brings .* to 12000 objects; at most 10000 are read, divide spec\.managedPolicies/,
  );
});
