import { ClusterClaim, claimOf, ManagedCluster } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { trimReport } from './trim-cluster.ts';

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
