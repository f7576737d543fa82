import type { SpokeAccess } from '@flotilla/agent';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import { type Client, systemClock as clock, createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createHubLimiter } from '../../hub-limiter.ts';
import type { KindDeps } from '../deps.ts';
import { reconcileAction } from './reconciler.ts';

const logger = createLogger({ name: 't', level: 'silent' });
const action = ManagedClusterAction.schema.parse({
  metadata: { name: 'a', namespace: 'c', resourceVersion: '1' },
  spec: {
    actionType: 'Create',
    kube: { resource: 'configmap', template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', namespace: 'n' } } },
  },
});

/** An agent whose stop comes as it creates the object; its verdicts, and how often it created. */
async function reconcileWhileStopping(isStopped: boolean) {
  const stopping = new AbortController();
  if (isStopped) stopping.abort();
  const verdicts: unknown[] = [];
  let created = 0;
  const served = { group: '', version: 'v1', plural: 'configmaps', singular: 'configmap', namespaced: true, kind: 'ConfigMap' };
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
