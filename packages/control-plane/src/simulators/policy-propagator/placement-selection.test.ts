import { ManagedCluster, PlacementSpec } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { divideIntoDecisions, selectForPlacement } from './placement-selection.ts';

const cluster = (name: string, labels: Record<string, string> = {}, taint?: { key: string; effect: string }) =>
  ManagedCluster.schema.parse({ metadata: { name, labels: { name, ...labels } }, spec: { ...(taint && { taints: [taint] }) } });

const away = { key: 'cluster.open-cluster-management.io/unreachable', effect: 'NoSelect' };
const fleet = [cluster('c', { site: 'x' }), cluster('a', { site: 'x' }), cluster('b', { site: 'y' }), cluster('away', { site: 'x' }, away)];
const matching = (...expressions: object[]) => ({
  predicates: expressions.map((expression) => ({
    requiredClusterSelector: { labelSelector: { matchExpressions: [expression] } },
  })),
});

describe('a Placement selects', () => {
  test.each([
    { name: 'everybody without predicates, but tainted clusters', spec: {}, want: ['a', 'b', 'c'] },
    { name: 'by In', spec: matching({ key: 'name', operator: 'In', values: ['a', 'b', 'nobody'] }), want: ['a', 'b'] },
    {
      name: 'by NotIn, which clusters without the label match',
      spec: matching({ key: 'none', operator: 'NotIn', values: ['x'] }),
      want: ['a', 'b', 'c'],
    },
    { name: 'by Exists', spec: matching({ key: 'site', operator: 'Exists' }), want: ['a', 'b', 'c'] },
    { name: 'by DoesNotExist', spec: matching({ key: 'site', operator: 'DoesNotExist' }), want: [] },
    {
      name: 'whoever matches any of several predicates',
      spec: matching({ key: 'name', operator: 'In', values: ['c'] }, { key: 'site', operator: 'In', values: ['y'] }),
      want: ['b', 'c'],
    },
    {
      name: 'tainted clusters that it tolerates',
      spec: { ...matching({ key: 'site', operator: 'In', values: ['x'] }), tolerations: [{ key: away.key, operator: 'Exists' }] },
      want: ['a', 'away', 'c'],
    },
    { name: 'nobody by an operator that is none', spec: matching({ key: 'site', operator: 'Like', values: ['x'] }), want: [] },
  ])('$name', ({ spec, want }) => expect(selectForPlacement(PlacementSpec.parse(spec), fleet, true).clusters).toEqual(want));
});

describe('what stands in the way is the reason', () => {
  const nobody = matching({ key: 'name', operator: 'In', values: ['nobody'] });
  test.each([
    { reason: 'NoManagedClusterSetBindings', spec: nobody, bound: false },
    { reason: 'AllManagedClusterSetsEmpty', spec: nobody, bound: 'empty' as const },
    { reason: 'NoManagedClusterMatched', spec: nobody, bound: true },
    { reason: 'AllDecisionsScheduled', spec: {}, bound: true },
  ])('$reason', ({ reason, spec, bound }) => {
    const [satisfied, misconfigured] = selectForPlacement(PlacementSpec.parse(spec), fleet, bound).conditions;
    expect(satisfied).toMatchObject({ type: 'PlacementSatisfied', reason });
    expect(misconfigured).toMatchObject({ type: 'PlacementMisconfigured', status: 'False' });
  });

  test('a requirement without values is misconfigured', () => {
    const { conditions } = selectForPlacement(PlacementSpec.parse(matching({ key: 'name', operator: 'In' })), fleet, true);
    expect(conditions).toMatchObject([
      { type: 'PlacementSatisfied', status: 'False', reason: 'NoManagedClusterMatched' },
      {
        type: 'PlacementMisconfigured',
        status: 'True',
        reason: 'Misconfigured',
        message: expect.stringContaining("values set can't be empty"),
      },
    ]);
  });
});

describe('decisions', () => {
  const names = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `c${String(from + index).padStart(3, '0')}`);

  test('hold at most 100 clusters each', () => {
    expect(divideIntoDecisions(names(0, 230), []).map(({ length }) => length)).toEqual([100, 100, 30]);
  });

  test('keep the clusters they have; newcomers take what is free', () => {
    const before = [names(10, 60), names(60, 100)];
    expect(divideIntoDecisions([...names(0, 10), ...names(10, 100)], before)).toEqual([
      [...names(10, 60), ...names(0, 10)],
      names(60, 100),
    ]);
  });

  test('go when they are empty, but the first', () => {
    expect(divideIntoDecisions([], [names(0, 100), names(100, 101)])).toEqual([[]]);
  });
});
