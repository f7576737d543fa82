import { configCrds } from '@flotilla/api/config';
import { Namespace } from '@flotilla/api/core';
import { managedCrds, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { applyCrds } from '../fixtures/crds.ts';
import { upgradeWithoutLink } from '../support/managed/spoke-upgrade.ts';

const VERSION = '4.14.12';

test('whoever follows the upgrade of a spoke has its last news before going on: the link is up again', async () => {
  await using server = await startApiServer();
  const client = await server.client();
  await applyCrds(client, [...managedCrds(), ...configCrds()]);
  await client.create(Namespace, { metadata: { name: OPERATOR_NAMESPACE } });
  const ref = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
  const desired = { version: VERSION, channel: 'stable-4.14' };
  const spec = { type: 'OSD', upgradeAt: '2026-01-01T00:00:00Z', PDBForceDrainTimeout: 60, desired };
  await client.create(UpgradeConfig, { metadata: ref, spec });
  const status = { history: [{ version: VERSION, phase: 'Upgraded' }] };
  await client.patch(UpgradeConfig, ref, { status }, { type: 'merge', subresource: 'status' });

  const order: string[] = [];
  const [restoring, restored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const spoke = {
    name: 'spoke-1',
    client,
    cutLink: async () => void order.push('cut'),
    restoreLink: () => {
      restoring.resolve();
      return restored.promise;
    },
  };
  const upgrade = upgradeWithoutLink(spoke, { version: VERSION, onNews: (news) => order.push(news) });
  await restoring.promise;
  const gone = upgrade[Symbol.asyncDispose]().then(() => order.push('gone on'));
  // Its watches have ended long before this answer.
  await client.get(UpgradeConfig, ref);
  restored.resolve();
  await gone;
  expect(order.slice(-2)).toEqual(['the link is up again', 'gone on']);
});
