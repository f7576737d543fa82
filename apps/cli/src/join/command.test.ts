import type { KubeObject, Resource } from '@flotilla/api';
import { expect, test } from 'vitest';
import { untilLetIn } from './command.ts';

const cluster = (status: string, reason: string, message = '') => ({
  metadata: { name: 'spoke-1' },
  status: { conditions: [{ type: 'HubAcceptedManagedCluster', status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
});

/** Fakes a hub that ends every watch at once and lists these answers in turn. */
const hubThatSays = (...answers: readonly unknown[]) => {
  const left = [...answers];
  return {
    list: async <T extends KubeObject>(kind: Resource<T>) => ({
      items: [kind.schema.parse(left.length > 1 ? left.shift() : left[0])],
      resourceVersion: '1',
    }),
    async *watch() {},
  };
};

test('a watch that ends before the hub has decided is no verdict', async () => {
  const hub = hubThatSays({ metadata: { name: 'spoke-1' } }, cluster('True', 'HubClusterAdminAccepted'));
  await expect(untilLetIn(hub, 'spoke-1', 20_000)).resolves.toBeUndefined();
});

test('a name that cannot be is refused at once, and a hub that never decides when the time is over', async () => {
  await expect(untilLetIn(hubThatSays(cluster('False', 'Error', 'no dots')), 'spoke-1', 20_000)).rejects.toThrow('no dots');
  await expect(untilLetIn(hubThatSays({ metadata: { name: 'spoke-1' } }), 'spoke-1', 50)).rejects.toThrow('within 0.05 s');
});
