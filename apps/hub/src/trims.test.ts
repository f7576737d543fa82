import { Lease } from '@flotilla/api/core';
import { ClusterClaim, claimOf, ManagedCluster } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { trimLease, trimReport } from './trims.ts';

const available = { type: 'A', status: 'True', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
const cluster = ManagedCluster.schema.parse({
  metadata: { name: 'spoke-1', labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['f'], resourceVersion: '7' },
  spec: { hubAcceptsClient: true, leaseDurationSeconds: 60, taints: [{ key: 'k', effect: 'NoSelect' }] },
  status: {
    conditions: [available],
    clusterClaims: [
      { name: 'padding', value: 'x'.repeat(500_000) },
      { name: ClusterClaim.product, value: 'OpenShift' },
      { name: ClusterClaim.nodes, value: 'y'.repeat(500_000) },
    ],
    allocatable: { cpu: '8', padding: 'z'.repeat(500_000) },
  },
});

test('a cluster is kept without what a spoke pads its status with', () => {
  const kept = trimReport(cluster);
  expect(kept).toMatchObject({ metadata: cluster.metadata, spec: cluster.spec, status: { conditions: [available] } });
  expect(claimOf(kept, ClusterClaim.product)).toBe('OpenShift');
  expect(JSON.stringify(kept).length).toBeLessThan(2_000);
});

test('a cluster that has reported nothing yet has no status', () => {
  expect(trimReport(ManagedCluster.schema.parse({ metadata: { name: 'a' } })).status).toBeUndefined();
});

const AGENTS = '2026-01-01T00:00:00.000000Z';
const entry = (time: string, fields: object) => ({ manager: 'agent', operation: 'Update', time, fieldsType: 'FieldsV1', fieldsV1: fields });
const renewal = (time: string) => entry(time, { 'f:spec': { 'f:renewTime': {} } });
const renewTimeOf = (managedFields: unknown, renewTime: string | undefined = AGENTS) =>
  trimLease(Lease.schema.parse({ metadata: { name: 'managed-cluster-lease', namespace: 'a', managedFields }, spec: { renewTime } })).spec
    ?.renewTime;

test.each([
  {
    name: 'the time at which the server took it, to the end of the second',
    fields: [renewal('2026-01-01T00:05:00Z')],
    want: '2026-01-01T00:05:01.000Z',
  },
  {
    name: 'not the time at which somebody labelled it',
    fields: [renewal('2026-01-01T00:05:00Z'), entry('2026-01-01T00:09:00Z', { 'f:metadata': {} })],
    want: '2026-01-01T00:05:01.000Z',
  },
  { name: 'the agent’s own time where the server says nothing', fields: undefined, want: AGENTS },
  { name: 'the agent’s own time where it cannot be read', fields: 'x', want: AGENTS },
])('a lease was renewed at $name', ({ fields, want }) => expect(renewTimeOf(fields)).toBe(want));

test('a lease that was never renewed was not', () => {
  const lease = Lease.schema.parse({ metadata: { name: 'l', namespace: 'a', managedFields: [renewal('2026-01-01T00:05:00Z')] } });
  expect(trimLease(lease).spec?.renewTime).toBeUndefined();
});
