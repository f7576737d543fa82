import { findCondition, isJsonObject } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import type { SimulatedSpokes } from '@flotilla/control-plane/simulators';
import { settled } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SimulatedFleet, startSimulatedFleet } from './simulated-fleet.ts';

const NAMES = ['well', 'late', 'never', 'failing', 'absent', 'offline'];
const within = { timeout: 30_000, interval: 50 };

const upgrade = (stage: string) => ({
  apiVersion: 'lca.openshift.io/v1',
  kind: 'ImageBasedUpgrade',
  metadata: { name: 'upgrade' },
  spec: { stage },
});
const feedbackRules = [
  { type: 'JSONPaths', jsonPaths: [{ name: 'isPrepCompleted', path: '.status.conditions[?(@.type=="PrepCompleted")].status' }] },
];
const resourceIdentifier = { group: 'lca.openshift.io', resource: 'imagebasedupgrades', name: 'upgrade' };

/** What only simulated spokes do with works: statuses that come after a while, or not, and faults; each on a spoke of its own. */
export function describeSimulatedWorkFaults(): void {
  describe('works on simulated spokes', () => {
    let fleet: SimulatedFleet;
    let hub: Client;
    let spokes: SimulatedSpokes;
    beforeAll(async () => {
      fleet = await startSimulatedFleet({
        speed: 10,
        names: NAMES,
        seed: 7,
        job: { seconds: 1, jitter: 0 },
        workCadence: { statusSyncMs: 250, resyncMs: 60_000 },
        work: {
          seconds: 1,
          jitter: 0.2,
          status: {
            ImageBasedUpgrade: ({ spec }) =>
              isJsonObject(spec) && spec.stage === 'Prep' ? { conditions: [{ type: 'PrepCompleted', status: 'True' }] } : undefined,
          },
        },
        faults: {
          late: { workSeconds: 5 },
          never: { statusNeverChanges: true },
          failing: { failWork: 'the spoke is full' },
          absent: { workNeverAvailable: true },
        },
      });
      ({ hub, spokes } = fleet);
    });
    afterAll(async () => {
      await fleet?.[Symbol.asyncDispose]();
    });

    const start = (namespace: string, name = 'prep') =>
      hub.create(ManifestWork, {
        apiVersion: ManifestWork.apiVersion,
        kind: ManifestWork.kind,
        metadata: { name, namespace },
        spec: { workload: { manifests: [upgrade('Prep')] }, manifestConfigs: [{ resourceIdentifier, feedbackRules }] },
      });
    const shown = async (namespace: string, name = 'prep') => {
      const status = (await hub.get(ManifestWork, { namespace, name }))?.status;
      const of = (type: string) => findCondition(status?.conditions, type)?.status;
      const [manifest] = status?.resourceStatus?.manifests ?? [];
      return { applied: of('Applied'), available: of('Available'), value: manifest?.statusFeedback?.values?.[0]?.fieldValue.string };
    };

    test('the expected value appears after its time, on a late spoke later and on a stuck one never', async () => {
      await Promise.all(['well', 'late', 'never'].map((name) => start(name)));
      const startedAt = fleet.clock.now();
      await settled(async () => expect(await shown('well')).toEqual({ applied: 'True', available: 'True', value: 'True' }), within);
      expect(await shown('late')).toMatchObject({ applied: 'True', value: undefined });
      await settled(async () => expect((await shown('late')).value).toBe('True'), within);
      expect(fleet.clock.now() - startedAt).toBeGreaterThan(3500);
      expect(await shown('never')).toEqual({ applied: 'True', available: 'True', value: undefined });
    });

    test('a spoke that cannot apply says why, one on which nothing appears says so', async () => {
      await Promise.all(['failing', 'absent'].map((name) => start(name)));
      await settled(async () => expect(await shown('failing')).toMatchObject({ applied: 'False', available: 'False' }), within);
      await settled(async () => expect(await shown('absent')).toMatchObject({ applied: 'True', available: 'False' }), within);
      const work = await hub.get(ManifestWork, { namespace: 'failing', name: 'prep' });
      expect(JSON.stringify(work?.status)).toContain('Failed to apply manifest: the spoke is full');
      spokes.setFaults('failing', {});
      await settled(async () => expect(await shown('failing')).toEqual({ applied: 'True', available: 'True', value: 'True' }), within);
    });

    test('a spoke out of reach applies when it is back', async () => {
      spokes.disconnect('offline');
      await Promise.all(['offline', 'well'].map((name) => start(name, 'second')));
      await settled(async () => expect((await shown('well', 'second')).applied).toBe('True'), within);
      expect((await shown('offline', 'second')).applied).toBeUndefined();
      spokes.reconnect('offline');
      await settled(async () => expect((await shown('offline', 'second')).applied).toBe('True'), within);
    });

    test('a Subscription waits for its InstallPlan, which completes when it is approved', async () => {
      const store = spokes.store('well');
      const operators = { apiVersion: 'operators.coreos.com/v1alpha1' };
      const status = {
        state: 'UpgradePending',
        currentCSV: 'op.v2',
        installedCSV: 'op.v1',
        installPlanRef: { name: 'install-1', namespace: 'op' },
      };
      const subscription = { name: 'op', namespace: 'op' };
      store.set({ ...operators, kind: 'Subscription', metadata: subscription, spec: { channel: 'stable' }, status });
      const spec = { approval: 'Manual', approved: false, clusterServiceVersionNames: ['op.v2'] };
      const plan = store.set({ ...operators, kind: 'InstallPlan', metadata: { name: 'install-1', namespace: 'op' }, spec });
      const scope = { resource: 'Subscription.operators.coreos.com', ...subscription, updateIntervalSeconds: 1 };
      const kind = ({ apiVersion, kind }: { apiVersion: string; kind: string }) => ({ apiVersion, kind });
      await hub.create(ManagedClusterView, { ...kind(ManagedClusterView), metadata: { name: 'sub', namespace: 'well' }, spec: { scope } });
      const stateShown = async () => {
        const result = (await hub.get(ManagedClusterView, { name: 'sub', namespace: 'well' }))?.status?.result;
        return isJsonObject(result) && isJsonObject(result.status) ? result.status.state : undefined;
      };
      await settled(async () => expect(await stateShown()).toBe('UpgradePending'), within);
      const { resourceVersion } = plan.metadata;
      const template = {
        ...operators,
        kind: 'InstallPlan',
        metadata: { name: 'install-1', resourceVersion },
        spec: { ...spec, approved: true },
      };
      await hub.create(ManagedClusterAction, {
        ...kind(ManagedClusterAction),
        metadata: { name: 'approve', namespace: 'well' },
        spec: { actionType: 'Update', kube: { resource: 'installplan', namespace: 'op', template } },
      });
      await settled(async () => expect(await stateShown()).toBe('AtLatestKnown'), within);
    });
  });
}
