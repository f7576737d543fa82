import type { WorkMemory } from '@flotilla/agent';
import { findCondition, mergePatched } from '@flotilla/api';
import { ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { ApiError, type Client, systemClock as clock, createLogger, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createHubLimiter } from '../../hub-limiter.ts';
import { reconcileWork } from './reconciler.ts';

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
  const spoke = { findKind: async () => served, find: async () => manifest, apply: async () => manifest };
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
