import { Annotation, findCondition } from '@flotilla/api';
import { JobStatus } from '@flotilla/api/core';
import { ACTION_COMPLETED, ManagedClusterAction, ManagedClusterView, VIEW_PROCESSING } from '@flotilla/api/ocm';
import { PullerReport, SpokeName } from '@flotilla/api/ran';
import type { SimulatedSpokes } from '@flotilla/control-plane/simulators';
import { settled } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SimulatedFleet, startSimulatedFleet } from './simulated-fleet.ts';

const { namespace } = SpokeName;
const NAMES = ['well', 'failing', 'deadline', 'stuck', 'offline', 'blind', 'refusing', 'slow', 'no-server'];
const within = { timeout: 30_000, interval: 50 };

/** Faults of the simulated spokes, each on a spoke of its own beside a healthy one. */
export function describeSimulatedFaults(): void {
  describe('faults of simulated spokes', () => {
    let fleet: SimulatedFleet;
    let hub: Client;
    let spokes: SimulatedSpokes;
    beforeAll(async () => {
      fleet = await startSimulatedFleet({
        names: NAMES,
        seed: 7,
        job: { seconds: 1, jitter: 0.2, startupMs: 100, progressMs: 100 },
        collectActionsAfterMs: 4000,
        faults: {
          failing: { failJob: true },
          deadline: { deadlineJobSeconds: 1 },
          stuck: { jobNeverStarts: true },
          offline: { offline: { fromMs: 0, untilMs: 3000 } },
          blind: { lostView: { name: 'view-job', how: 'deleted' } },
          refusing: { failActions: { 'make-ns': 3 } },
          slow: { latencyMs: 700 },
          'no-server': { apiServerDown: true },
        },
      });
      ({ hub, spokes } = fleet);
    });
    afterAll(async () => {
      await fleet?.[Symbol.asyncDispose]();
    });

    const act = (spoke: string, name: string, template: Record<string, unknown>) =>
      hub.create(ManagedClusterAction, {
        apiVersion: ManagedClusterAction.apiVersion,
        kind: ManagedClusterAction.kind,
        metadata: { namespace: spoke, name },
        spec: { actionType: 'Create', kube: { template } },
      });
    const see = (spoke: string, name: string, kind: string, object: string) =>
      hub.create(ManagedClusterView, {
        apiVersion: ManagedClusterView.apiVersion,
        kind: ManagedClusterView.kind,
        metadata: { namespace: spoke, name },
        spec: { scope: { resource: kind, name: object, namespace, updateIntervalSeconds: 1 } },
      });
    const completed = async (spoke: string, name: string) =>
      findCondition((await hub.get(ManagedClusterAction, { namespace: spoke, name }))?.status?.conditions, ACTION_COMPLETED);
    const startJob = async (spoke: string): Promise<void> => {
      await act(spoke, 'make-ns', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await settled(async () => expect((await completed(spoke, 'make-ns'))?.status).toBe('True'), within);
      const metadata = { name: SpokeName.job, namespace, annotations: { attempt: '1' } };
      await act(spoke, 'make-job', { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { activeDeadlineSeconds: 600 } });
      await see(spoke, 'view-job', 'jobs.v1.batch', SpokeName.job);
    };
    const jobShown = async (spoke: string) => {
      const view = await hub.get(ManagedClusterView, { namespace: spoke, name: 'view-job' });
      return { view, status: JobStatus.parse(Object(view?.status?.result).status ?? {}) };
    };

    test('a healthy spoke creates one job, and its end and progress reach the hub through views', async () => {
      await startJob('well');
      await settled(async () => expect((await jobShown('well')).status).toMatchObject({ succeeded: 1 }), within);
      const { annotations } = Object((await jobShown('well')).view?.status?.result).metadata;
      expect(PullerReport.parse(JSON.parse(annotations[Annotation.progress]))).toMatchObject({ phase: 'done', imagesDone: 12 });
      expect(spokes.jobsCreated('well')).toMatchObject([{ name: SpokeName.job, namespace, annotations: { attempt: '1' } }]);
      const types = spokes.events('well').map(({ type }) => type);
      expect(types.filter((type) => type.startsWith('job-'))).toEqual(['job-created', 'job-started', 'job-succeeded']);
    });

    test.each([
      { spoke: 'failing', reason: 'BackoffLimitExceeded' },
      { spoke: 'deadline', reason: 'DeadlineExceeded' },
    ])('the job of $spoke ends with $reason', async ({ spoke, reason }) => {
      await startJob(spoke);
      await settled(async () => {
        const { status } = await jobShown(spoke);
        expect(findCondition(status.conditions, 'Failed')).toMatchObject({ status: 'True', reason });
      }, within);
    });

    test('the job of a stuck spoke keeps its empty status', async () => {
      await startJob('stuck');
      await settled(
        async () => expect(findCondition((await jobShown('stuck')).view?.status?.conditions, VIEW_PROCESSING)?.status).toBe('True'),
        within,
      );
      expect((await jobShown('stuck')).status).toEqual({});
      expect(spokes.events('stuck').some(({ type }) => type === 'job-started')).toBe(false);
    });

    test('a spoke out of reach does what was asked when it is back', async () => {
      spokes.disconnect('offline');
      await act('offline', 'make-late', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'late' } });
      await act('well', 'make-late', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'late' } });
      await settled(async () => expect((await completed('well', 'make-late'))?.status).toBe('True'), within);
      expect(await completed('offline', 'make-late')).toBeUndefined();
      spokes.reconnect('offline');
      await settled(async () => expect((await completed('offline', 'make-late'))?.status).toBe('True'), within);
    });

    test('a lost view was answered once and is gone', async () => {
      await startJob('blind');
      await settled(async () => expect((await jobShown('blind')).view).toBeUndefined(), within);
      expect(spokes.events('blind').filter(({ type }) => type === 'view-read')).toHaveLength(1);
    });

    test('a spoke whose API server is down says so in actions and views, as the stock agent does, until it is back', async () => {
      await act('no-server', 'make-ns', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await see('no-server', 'view-job', 'jobs', 'job');
      const down = 'dial tcp 10.0.0.1:6443: connect: connection refused';
      await settled(
        async () =>
          expect(await completed('no-server', 'make-ns')).toMatchObject({
            status: 'False',
            message: `failed to handle Create action with err: Post "https://10.0.0.1:6443/api/v1/namespaces": ${down}`,
          }),
        within,
      );
      const shown = async () => findCondition((await jobShown('no-server')).view?.status?.conditions, VIEW_PROCESSING);
      const path = `apis/batch/v1/namespaces/${namespace}/jobs/job`;
      await settled(
        async () =>
          expect(await shown()).toMatchObject({
            reason: 'GetResourceFailed',
            message: `failed to get resource with err: Get "https://10.0.0.1:6443/${path}": ${down}`,
          }),
        within,
      );
      spokes.setFaults('no-server', {});
      await settled(async () => expect((await shown())?.message).toMatch(/not found$/), within);
    });

    test('an action that is made to fail three times is False after two runs; two touches later it works', async () => {
      await act('refusing', 'make-ns', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      const failures = () => spokes.events('refusing').filter(({ type }) => type === 'action-failed').length;
      await settled(() => expect(failures()).toBe(2), within);
      expect(await completed('refusing', 'make-ns')).toMatchObject({
        status: 'False',
        message: 'failed to handle Create action with err: admission webhook "deny.simulated.test" denied the request: injected fault',
      });
      for (const touch of ['1', '2'])
        await hub.patch(
          ManagedClusterAction,
          { namespace: 'refusing', name: 'make-ns' },
          { metadata: { annotations: { touch } } },
          { type: 'merge' },
        );
      await settled(async () => expect((await completed('refusing', 'make-ns'))?.status).toBe('True'), within);
    });

    test('a slow spoke answers late and delays nobody', async () => {
      const startedAt = Date.now();
      await act('slow', 'make-ns', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      await act('well', 'make-other', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
      await settled(async () => expect((await completed('well', 'make-other'))?.status).toBe('True'), within);
      expect(await completed('slow', 'make-ns')).toBeUndefined();
      await settled(async () => expect((await completed('slow', 'make-ns'))?.status).toBe('True'), within);
      expect(Date.now() - startedAt).toBeGreaterThanOrEqual(700);
    });

    test('a completed action vanishes after its time, one without a condition never', async () => {
      spokes.disconnect('offline');
      await act('offline', 'make-never', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'never' } });
      await act('well', 'make-short', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'short' } });
      await settled(async () => expect(await completed('well', 'make-short')).toBeDefined(), within);
      await settled(
        async () => expect(await hub.get(ManagedClusterAction, { namespace: 'well', name: 'make-short' })).toBeUndefined(),
        within,
      );
      expect(await hub.get(ManagedClusterAction, { namespace: 'offline', name: 'make-never' })).toBeDefined();
    });
  });
}
