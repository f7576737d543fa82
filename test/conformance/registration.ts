import { findCondition } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import { CLUSTER_AVAILABLE, ClusterClaim, claimOf, ManagedCluster } from '@flotilla/api/ocm';
import { settled } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentSubject } from './agent-subject.ts';

/** The registration part of our agent (spec/ocm 2.1): its lease, the condition of its ManagedCluster, and how it ends. */
export function describeRegistration(setup: () => Promise<AgentSubject>): void {
  describe('registration of our agent', () => {
    let subject: AgentSubject;
    beforeAll(async () => {
      subject = await setup();
    });
    afterAll(async () => {
      await subject?.[Symbol.asyncDispose]();
    });
    const condition = async () => {
      const cluster = await subject.hub.get(ManagedCluster, { name: subject.cluster });
      return findCondition(cluster?.status?.conditions, CLUSTER_AVAILABLE);
    };
    const lease = () => subject.hub.get(Lease, { namespace: subject.cluster, name: 'managed-cluster-lease' });
    const within = { timeout: 40_000, interval: 100 };

    test('reports the spoke available when it starts', async () => {
      await settled(async () => expect(await condition()).toMatchObject({ status: 'True', reason: 'ManagedClusterAvailable' }), within);
    });

    test('says what the spoke is and how a job may come to it, and leaves what others say', async () => {
      const claims = async () => {
        const cluster = await subject.hub.get(ManagedCluster, { name: subject.cluster });
        return [ClusterClaim.kubeVersion, ClusterClaim.product, ClusterClaim.nodes, ClusterClaim.transports].map((name) =>
          claimOf(cluster, name),
        );
      };
      // The spoke has no node, and a hub of the framework refuses an empty claim; this agent may create anything there.
      const said = [expect.stringMatching(/^v1\.\d+\.\d+/), 'Other', undefined, 'actions,works,puller-account,node-pullers'];
      await settled(async () => expect(await claims()).toEqual(said), within);
      const other = { name: 'site.example.com', value: 'north' };
      await subject.hub.patch(
        ManagedCluster,
        { name: subject.cluster },
        { status: { clusterClaims: [{ name: ClusterClaim.transports, value: 'pigeon' }, other] } },
        { type: 'merge', subresource: 'status' },
      );
      await subject.stopAgent();
      await subject.startAgent();
      await settled(async () => expect(await claims()).toEqual(said), within);
      const cluster = await subject.hub.get(ManagedCluster, { name: subject.cluster });
      expect(cluster?.status?.clusterClaims).toContainEqual(other);
    });

    test('holds a lease of the duration the ManagedCluster names and renews it', async () => {
      await settled(async () => expect((await lease())?.spec?.leaseDurationSeconds).toBe(60), within);
      await subject.hub.patch(ManagedCluster, { name: subject.cluster }, { spec: { leaseDurationSeconds: 1 } }, { type: 'merge' });
      await subject.stopAgent();
      await subject.startAgent();
      const renewals = new Set<unknown>();
      await settled(async () => {
        renewals.add((await lease())?.spec?.renewTime);
        expect(renewals.size).toBeGreaterThan(3);
      }, within);
    });

    test('reports the spoke unavailable when its API server has not answered for twenty seconds, not before', async () => {
      const cutAt = Date.now();
      await subject.cutSpoke();
      await settled(
        async () => expect(await condition()).toMatchObject({ status: 'False', reason: 'ManagedClusterKubeAPIServerUnavailable' }),
        within,
      );
      expect(Date.now() - cutAt).toBeGreaterThanOrEqual(15_000);
    });

    test('ends in order at SIGTERM', async () => {
      expect(await subject.endAgent()).toContain('"msg":"Stopped"');
    });
  });
}
