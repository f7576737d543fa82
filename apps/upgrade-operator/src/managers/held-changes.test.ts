import { ClusterVersion } from '@flotilla/api/config';
import { OPERATOR_NAMESPACE, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { CASE_REF, createUpgrade, memoryCluster } from '../../testing/operator-case.ts';
import { MemoryOcm } from '../../testing/withdrawn-case.ts';
import { readOperatorConfig } from '../operator-config/read-config.ts';
import { createProvider } from './provider.ts';

const config = readOperatorConfig(
  JSON.stringify({ nodeDrain: { timeOut: 45 }, configManager: { source: 'OCM', ocmBaseUrl: 'http://ocm.test' } }),
);
const { signal } = new AbortController();

/** An upgrade to 4.14.12 that has begun, and whose cluster is asked for nothing. */
async function begun(status: 'True' | 'False') {
  const client = memoryCluster(new ManualClock()).client();
  const ocm = new MemoryOcm();
  await client.create(ClusterVersion, { metadata: { name: 'version' }, spec: { clusterID: 'x', channel: 'stable-4.14' } });
  const { spec } = await createUpgrade(client);
  const { type, upgradeAt, desired } = spec;
  const begunWith: UpgradeHistory['begunWith'] = { type, upgradeAt, desired };
  const entry = { version: '4.14.12', phase: 'Upgrading', begunWith, conditions: [{ type: 'UpgradeCommenced', status }] };
  await client.patch(UpgradeConfig, CASE_REF, { status: { history: [entry] } }, { type: 'merge', subresource: 'status' });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const current = () => ({ config });
  const provider = createProvider({ client, namespace: OPERATOR_NAMESPACE, config: { current }, ocm: () => ocm.client, logger });
  return { provider, ocm, spec, stored: async () => (await client.get(UpgradeConfig, CASE_REF))?.spec };
}

test.each([
  { name: 'no upgrade any more', policy: undefined },
  { name: 'another version', policy: { version: '4.14.13', at: 0 } },
])('OCM asks for $name, after somebody cleared the update that the cluster was sent to: that is held', async ({ policy }) => {
  const { provider, ocm, spec, stored } = await begun('True');
  ocm.want(policy);
  expect(await provider.refresh(signal)).toBe(false);
  expect(await stored()).toEqual(spec);
  expect(provider.problem()?.reason).toBe('ChangeHeld');
});

test('before the cluster was sent OCM takes the upgrade back', async () => {
  const { provider, ocm, stored } = await begun('False');
  ocm.want(undefined);
  expect(await provider.refresh(signal)).toBe(true);
  expect(await stored()).toBeUndefined();
});
