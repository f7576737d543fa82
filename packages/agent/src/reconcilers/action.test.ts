import { ManagedClusterAction } from '@flotilla/api/ocm';
import { ApiError, type Client, systemClock as clock, createLogger, RefusedValues, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createHubLimiter, type KindDeps, type SpokeAccess } from '../access.ts';
import { reconcileAction } from './action.ts';

const logger = createLogger({ name: 't', level: 'silent' });
const action = ManagedClusterAction.schema.parse({
  metadata: { name: 'a', namespace: 'c', resourceVersion: '1' },
  spec: {
    actionType: 'Create',
    kube: { resource: 'configmap', template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', namespace: 'n' } } },
  },
});

const served = { group: '', version: 'v1', plural: 'configmaps', singular: 'configmap', namespaced: true, kind: 'ConfigMap' };

/** An agent whose stop comes as it creates the object; its verdicts, and how often it created. */
async function reconcileWhileStopping(isStopped: boolean) {
  const stopping = new AbortController();
  if (isStopped) stopping.abort();
  const verdicts: unknown[] = [];
  let created = 0;
  const spoke = {
    findKind: async () => served,
    findResource: async () => served,
    create: async () => {
      created += 1;
      stopping.abort();
    },
    get: async () => ({}),
  } as unknown as SpokeAccess;
  const hub = {
    replace: async (_kind: unknown, object: ManagedClusterAction) => {
      verdicts.push(object.status?.conditions?.map(({ status, reason }) => `${status} ${reason}`));
      return object;
    },
  } as unknown as Client;
  const deps = { get: () => action, spoke, hub, clock, limit: createHubLimiter(clock) } as unknown as KindDeps<
    ManagedClusterAction,
    SpokeAccess
  >;
  await reconcileAction('a', deps, { logger, signal: stopping.signal }).catch(() => undefined);
  return { created, verdicts };
}

test('an action that was executed is told, although the agent is being stopped', async () => {
  expect(await reconcileWhileStopping(false)).toEqual({ created: 1, verdicts: [['True ActionDone']] });
});

test('an agent that is being stopped begins no action', async () => {
  expect(await reconcileWhileStopping(true)).toEqual({ created: 0, verdicts: [] });
});

test('an action whose result the hub refuses is told without it, or it would be executed again and again', async () => {
  const spoke = {
    findKind: async () => served,
    findResource: async () => served,
    create: async () => ({ metadata: { name: 'm' } }),
    get: async () => ({ metadata: { name: 'm' } }),
  } as unknown as SpokeAccess;
  const written: ManagedClusterAction['status'][] = [];
  const hub = {
    replace: async (_kind: unknown, object: ManagedClusterAction) => {
      if (object.status?.result) {
        const causes = [{ field: 'status.result.apiVersion', reason: 'FieldValueRequired', message: 'must not be empty' }];
        throw new ApiError(RuntimeErrorCode.invalid, 'PUT', { status: 422, reason: 'Invalid', serverMessage: 'no', causes });
      }
      written.push(object.status);
      return object;
    },
  } as unknown as Client;
  const refused = new RefusedValues({ whole: ['status.result'] });
  const deps = { get: () => action, spoke, hub, clock, limit: createHubLimiter(clock), refused };
  await reconcileAction('a', deps, { logger, signal: new AbortController().signal });
  expect(written).toMatchObject([{ conditions: [{ status: 'True', reason: 'ActionDone' }] }]);
});
