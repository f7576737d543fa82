import { findCondition, mergePatched } from '@flotilla/api';
import { ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { ApiError, type Client, systemClock as clock, createLogger, RuntimeErrorCode } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { createHubLimiter } from '../access.ts';
import type { WorkMemory } from '../works/pass.ts';
import { createMemoryRecords } from '../works/records.ts';
import { reconcileWork } from './manifest-work.ts';

const logger = createLogger({ name: 't', level: 'silent' });
const served = { group: '', version: 'v1', plural: 'configmaps', singular: 'configmap', namespaced: true, kind: 'ConfigMap' };
const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', namespace: 'n', uid: 'u' }, data: { a: 'secret' } };
const refused = new ApiError(RuntimeErrorCode.invalid, 'PATCH', {
  status: 422,
  reason: 'Invalid',
  serverMessage: 'another content is wanted',
});

test('a status that the hub refuses for its values is written without them, and says so', async () => {
  const resourceIdentifier = { resource: 'configmaps', name: 'm', namespace: 'n' };
  const feedbackRules = [{ type: 'JSONPaths', jsonPaths: [{ name: 'a', path: '.data.a' }] }];
  let work = ManifestWork.schema.parse({
    metadata: { name: 'w', namespace: 'c', uid: 'uid', generation: 1, finalizers: [WORK_FINALIZER] },
    spec: { workload: { manifests: [manifest] }, manifestConfigs: [{ resourceIdentifier, feedbackRules }] },
  });
  let refusals = 0;
  const hub = {
    patch: async (_kind: unknown, _ref: unknown, patch: unknown) => {
      if (JSON.stringify(patch).includes('secret')) {
        refusals += 1;
        throw refused;
      }
      work = ManifestWork.schema.parse(mergePatched(work, patch));
      return work;
    },
  } as unknown as Client;
  const objects = { findKind: async () => served, find: async () => manifest, mergePatch: async () => manifest };
  const spoke = { objects, records: createMemoryRecords() };
  const memories = new Map<string, WorkMemory>();
  const cadence = { statusSyncMs: 1, resyncMs: 600_000 };
  const deps = { get: () => work, hub, spoke, clock, limit: createHubLimiter(clock), cadence, memories, random: () => 0 };
  const reconcile = () =>
    reconcileWork('w', deps as unknown as Parameters<typeof reconcileWork>[1], { logger, signal: new AbortController().signal });
  await reconcile();
  const [entry] = work.status?.resourceStatus?.manifests ?? [];
  expect(findCondition(work.status?.conditions, 'Applied')).toMatchObject({ status: 'True', observedGeneration: 1 });
  expect(findCondition(entry?.conditions, 'StatusFeedbackSynced')).toMatchObject({
    status: 'False',
    message: 'The hub refused the values, which are left out: another content is wanted',
  });
  // The values are not sent again before the next apply.
  memories.set('w', { ...(memories.get('w') as WorkMemory), nextReadAtMs: 0 });
  await reconcile();
  expect(refusals).toBe(1);
});

describe('a work that is missing on the hub, although nothing ended it,', () => {
  const GRACE_MS = 3_600_000;
  const resource = { group: '', version: 'v1', resource: 'configmaps', namespace: 'n', name: 'm', uid: 'u' };

  /** An agent that comes up with a record of work `w`. */
  async function agentOf(list: () => Promise<{ items: unknown[] }>) {
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const deleted: string[] = [];
    const objects = {
      findKind: async () => served,
      findResource: async () => served,
      find: async () => (deleted.length > 0 ? undefined : manifest),
      deleteExactly: async (_kind: unknown, _namespace: string, name: string, uid: string) => deleted.push(`${name} ${uid}`),
    };
    const records = createMemoryRecords();
    await records.write('w', { resources: [resource] }, true);
    const deps = {
      ...{ get: () => undefined, hub: { list }, spoke: { objects, records }, memories: new Map(), clusterName: 'c' },
      ...{ clock: { now: () => nowMs }, cadence: { statusSyncMs: 1, resyncMs: 1 }, random: () => 0, evictionGraceMs: GRACE_MS },
    } as unknown as Parameters<typeof reconcileWork>[1];
    const reconcile = (afterMs: number) => {
      nowMs += afterMs;
      return reconcileWork('w', deps, { logger, signal: new AbortController().signal });
    };
    return { reconcile, records, deleted };
  }

  test('is ended after a grace', async () => {
    const { reconcile, records, deleted } = await agentOf(async () => ({ items: [] }));
    expect(await reconcile(0)).toEqual({ requeueAfterMs: GRACE_MS });
    expect(await reconcile(GRACE_MS - 1000)).toEqual({ requeueAfterMs: 1000 });
    expect(deleted).toEqual([]);
    await reconcile(1000);
    expect([deleted, await records.works()]).toEqual([['m u'], []]);
  });

  test.each([
    {
      name: 'serves no works',
      error: () => new ApiError(RuntimeErrorCode.notFound, 'GET', { status: 404, reason: '', serverMessage: '' }),
    },
    {
      name: 'does not answer',
      error: () => new ApiError(RuntimeErrorCode.unreachable, 'GET', { status: 0, reason: '', serverMessage: '' }),
    },
  ])('has its whole grace anew after a time in which the hub $name', async ({ error }) => {
    let list: () => Promise<{ items: unknown[] }> = async () => ({ items: [] });
    const { reconcile, deleted } = await agentOf(() => list());
    await reconcile(0);
    list = () => Promise.reject(error());
    await reconcile(600_000).catch(() => undefined);
    await reconcile(2 * GRACE_MS).catch(() => undefined);
    list = async () => ({ items: [] });
    expect(await reconcile(600_000)).toEqual({ requeueAfterMs: GRACE_MS });
    expect(deleted).toEqual([]);
  });

  test.each([
    { name: 'that the hub has all the same', list: async () => ({ items: [{}] }) },
    {
      name: 'of a hub that serves no works',
      list: () => Promise.reject(new ApiError(RuntimeErrorCode.notFound, 'GET', { status: 404, reason: '', serverMessage: '' })),
    },
  ])('stays when it is one $name', async ({ list }) => {
    const { reconcile, records, deleted } = await agentOf(list);
    for (const afterMs of [0, 2 * GRACE_MS, 2 * GRACE_MS]) await reconcile(afterMs);
    expect([deleted, (await records.read('w'))?.evictionStartTime]).toEqual([[], undefined]);
  });
});
