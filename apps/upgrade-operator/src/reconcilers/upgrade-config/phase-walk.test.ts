import { ClusterVersion } from '@flotilla/api/config';
import { UpgradeConfig } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { testConfig } from '../../../testing/test-config.ts';
import { WithdrawnError } from '../../steps/step.ts';
import type { Pass } from './phases.ts';
import { throughPhases } from './reconciler.ts';

test('a pass that ends while its status is being saved waits for that: two writes of one status could arrive in any order', async () => {
  const clock = new ManualClock();
  const [asked, saved] = [Promise.withResolvers<boolean>(), Promise.withResolvers<void>()];
  const desired = { version: '4.14.12', channel: 'c' };
  let saves = 0;
  const pass = {
    upgradeConfig: UpgradeConfig.schema.parse({
      metadata: { name: 'u' },
      spec: { type: 'OSD', upgradeAt: '1970-01-01T00:00:00Z', PDBForceDrainTimeout: 60, desired },
    }),
    cluster: {
      clusterVersion: ClusterVersion.schema.parse({ metadata: { name: 'version' }, spec: { clusterID: 'x', desiredUpdate: desired } }),
    },
    config: testConfig,
    draft: { entry: { phase: 'Pending' }, sayValidated: () => undefined },
    ports: { provider: { refresh: () => asked.promise }, metrics: { validationFailed: () => undefined } },
    clock,
    save: async () => {
      saves += 1;
      await saved.promise;
    },
    signal: new AbortController().signal,
  } as unknown as Pass;
  let hasEnded = false;
  const ended = throughPhases(pass).catch((error: unknown) => {
    hasEnded = true;
    return error;
  });
  await clock.advance(1_000);
  expect(saves).toBe(1);
  asked.reject(new WithdrawnError('it is not asked for'));
  await clock.advance(0);
  expect(hasEnded).toBe(false);
  saved.resolve();
  expect(await ended).toBeInstanceOf(WithdrawnError);
});
