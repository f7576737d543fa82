import { type Resource, refKey } from '@flotilla/api';
import type { UpgradeConfig } from '@flotilla/api/managed';
import { type ClusterManager, startClusterManager } from '@flotilla/control-plane/servers';
import { createLogger, systemClock } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOcm, type OcmClient } from '../clients/ocm.ts';
import { readOperatorConfig } from '../operator-config/read-config.ts';
import { createProvider, type ProviderOptions } from './provider.ts';

const AT = '2026-01-01T00:00:00Z';
const readable = { id: 'p', version: '4.14.12', next_run: AT };
const spec = {
  type: 'OSD',
  upgradeAt: AT,
  PDBForceDrainTimeout: 60,
  desired: { version: '4.14.12', channel: 'stable-4.14' },
  capacityReservation: true,
};
const { signal } = new AbortController();

let manager: ClusterManager;
let ocm: OcmClient;
beforeEach(async () => {
  manager = await startClusterManager({ externalId: 'e', token: 't' });
  const retry = { attempts: 1, baseMs: 1, maxMs: 1 };
  ocm = createOcm({ baseUrl: manager.url, identity: async () => ({ clusterId: 'e', token: 't' }), clock: systemClock, retry });
});
afterEach(async () => {
  await ocm[Symbol.asyncDispose]();
  await manager.stop();
});

/** A provider over an API server that has at most the UpgradeConfig. */
function provide(stored?: object) {
  const objects = new Map<string, unknown>(stored ? [['n/managed-upgrade-config', stored]] : []);
  const schemaOf = (kind: Resource) => kind.schema;
  const client = {
    get: async (kind: Resource, ref: { namespace: string; name: string }) => {
      const object = objects.get(refKey(ref));
      return object === undefined ? undefined : schemaOf(kind).parse(object);
    },
    create: async (_: Resource, object: { metadata: { namespace: string; name: string } }) => {
      objects.set(refKey(object.metadata), object);
      return object;
    },
    delete: async (_: Resource, ref: { namespace: string; name: string }) => objects.delete(refKey(ref)),
    patch: async () => expect.fail('nothing is changed here'),
  } as unknown as ProviderOptions['client'];
  const config = {
    config: readOperatorConfig(
      JSON.stringify({ upgradeType: 'OSD', nodeDrain: { timeOut: 45 }, configManager: { source: 'OCM', ocmBaseUrl: manager.url } }),
    ),
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  const provider = createProvider({ client, namespace: 'n', config: { current: () => config }, ocm: () => ocm, logger });
  return { provider, stored: () => objects.get('n/managed-upgrade-config') as UpgradeConfig | undefined };
}

test.each([
  { name: 'a version of another type', policy: { id: 'q', version: 4.14, next_run: AT }, why: 'policy q: version: ' },
  { name: 'a version that is none', policy: { id: 'q', version: '4', next_run: AT }, why: 'policy q: version "4" has no major' },
  { name: 'a moment that is none', policy: { id: 'q', version: '4.14.12', next_run: 'soon' }, why: 'policy q: next_run "soon"' },
  { name: 'no id', policy: { version: '4.14.12', next_run: AT }, why: 'id: ' },
])('a policy with $name does not keep another one from being carried out, and is told of', async ({ policy, why }) => {
  manager.setPolicies([policy as typeof readable, readable]);
  const { provider, stored } = provide();
  expect(await provider.refresh(signal)).toBe(true);
  expect(stored()?.spec).toEqual(spec);
  expect(provider.problem()).toEqual({ reason: 'PolicyUnreadable', message: expect.stringContaining(why) });
});

test("one that cannot be read and wants nothing any more is nobody's concern", async () => {
  manager.setPolicies([{ ...readable, id: 'q', next_run: 'soon' }, readable]);
  manager.setState('q', 'cancelled');
  const { provider, stored } = provide();
  expect(await provider.refresh(signal)).toBe(true);
  expect(stored()?.spec).toEqual(spec);
  expect(provider.problem()).toBeUndefined();
});

test('where no policy can be read, nothing counts as not wanted: the UpgradeConfig stays', async () => {
  manager.setPolicies([{ ...readable, next_run: 'soon' }]);
  const { provider, stored } = provide({ metadata: { namespace: 'n', name: 'managed-upgrade-config', uid: 'u' }, spec });
  await expect(provider.refresh(signal)).rejects.toThrow('policy p: next_run "soon" is no moment');
  expect(stored()).toBeDefined();
  expect(provider.problem()).toMatchObject({ reason: 'ProviderUnavailable' });
});

test('an upgrade behind more policies that are over than are asked about is not taken for none', async () => {
  const over = Array.from({ length: 20 }, (_, index) => ({
    ...readable,
    id: `over-${index}`,
    next_run: `2025-12-01T00:00:${10 + index}Z`,
  }));
  manager.setPolicies([...over, readable]);
  for (const { id } of over) manager.setState(id, 'completed');
  const { provider, stored } = provide({ metadata: { name: 'managed-upgrade-config', namespace: 'n', uid: 'u' }, spec });
  await expect(provider.refresh(signal)).rejects.toThrow('21 policies, at most 20 are asked for their state');
  expect(stored()?.spec).toEqual(spec);
});
