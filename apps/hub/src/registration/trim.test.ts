import type { Condition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, HUB_ACCEPTED, ManagedCluster } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { planTrim } from './trim.ts';

const condition = (type: string, message = ''): Condition => ({
  type,
  status: 'True',
  reason: 'Test',
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const many = <T>(count: number, one: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => one(index));
const own = [condition(HUB_ACCEPTED), condition(CLUSTER_AVAILABLE)];
const cluster = (status: Record<string, unknown>, metadata: Record<string, unknown> = {}): ManagedCluster =>
  ManagedCluster.schema.parse({ metadata: { name: 'spoke', ...metadata }, status: { conditions: own, ...status } });
const kept = (conditions: readonly Condition[]) => conditions.map(({ type }) => type);

describe('trims of a cluster', () => {
  test.each([
    {
      name: 'nothing of one that reports what agents report',
      status: { clusterClaims: [{ name: 'a', value: 'b' }], capacity: { cpu: '4' } },
    },
    { name: 'nothing of one without a status', status: {} },
    { name: 'nothing of forty claims', status: { clusterClaims: many(40, (index) => ({ name: `c${index}`, value: 'v'.repeat(500) })) } },
  ])('$name', ({ status }) => expect(planTrim(cluster(status), true)).toBeUndefined());

  test.each([
    { name: 'claims without end', status: { clusterClaims: many(200, (index) => ({ name: `c${index}`, value: 'v'.repeat(7_000) })) } },
    { name: 'more claims than the schema takes', status: { clusterClaims: many(257, () => ({ name: 'c', value: '' })) } },
    { name: 'a version without end', status: { version: { kubernetes: 'v'.repeat(1_000) } } },
    { name: 'fields that nobody knows', status: { other: 'x'.repeat(200_000) } },
  ])('$name, and every field but the conditions with them', ({ status }) => {
    const trim = planTrim(cluster({ ...status, allocatable: { cpu: 4 } }), true);
    expect(trim?.status).toMatchObject({ ...Object.fromEntries(Object.keys(status).map((key) => [key, null])), allocatable: null });
    expect(kept(trim?.status?.conditions ?? [])).toEqual([HUB_ACCEPTED, CLUSTER_AVAILABLE]);
  });

  test.each([
    { name: 'conditions without end', conditions: [...many(10_000, (index) => condition(`T${index}`)), ...own] },
    { name: 'messages without end', conditions: [...own, condition('T', 'x'.repeat(30_000))] },
  ])('$name, but not what is decided by', ({ conditions }) => {
    const trim = planTrim(cluster({ conditions, clusterClaims: [{ name: 'a', value: 'b' }] }), true);
    expect(kept(trim?.status?.conditions ?? [])).toEqual([HUB_ACCEPTED, CLUSTER_AVAILABLE]);
    expect(trim?.status).not.toHaveProperty('clusterClaims');
  });

  test('field managers without end', () => {
    const managedFields = many(300, (index) => ({ manager: `m${index}`, fieldsV1: { 'f:status': 'x'.repeat(1_000) } }));
    expect(planTrim(cluster({}, { managedFields }), true)).toEqual({ managedFields: true });
  });

  test('all reports of a denied cluster', () => {
    const conditions = [...own, condition('Other')];
    const trim = planTrim(cluster({ conditions, clusterClaims: [{ name: 'a', value: 'b' }] }), false);
    expect(trim?.status).toEqual({ conditions: own, clusterClaims: null });
    expect(planTrim(cluster({}), false)).toBeUndefined();
  });
});
