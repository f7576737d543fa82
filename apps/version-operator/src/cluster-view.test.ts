import { CONFIG_NAME } from '@flotilla/api/config';
import { ManualClock } from '@flotilla/pace/testing';
import { ApiError, type Client, createLogger, pause, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { featuresOf, readCluster } from './cluster-view.ts';

const refused = (code: string, status: number, reason: string) =>
  new ApiError(code, 'a call', { status, reason, serverMessage: 'the server could not find the requested resource' });

test('a kind that was served and is not found any more leaves the settings of the cluster as they were', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  let isServed = true;
  const specs: Readonly<Record<string, object>> = {
    FeatureGate: { spec: { featureSet: 'TechPreviewNoUpgrade' } },
    Proxy: { status: { httpsProxy: 'http://proxy.test' } },
    Infrastructure: { status: { apiServerInternalURI: 'https://api-int.test' } },
    APIServer: { spec: { tlsSecurityProfile: { type: 'Modern' } } },
    ClusterVersion: { spec: { clusterID: 'c' } },
  };
  const expires = async (): Promise<never> => {
    await pause(clock, 1_000);
    throw refused(RuntimeErrorCode.expired, 410, 'Expired');
  };
  const client: Pick<Client, 'list' | 'watch'> = {
    async list(kind) {
      if (!isServed && kind.kind !== 'ConfigMap') throw refused(RuntimeErrorCode.notFound, 404, 'NotFound');
      const object = { metadata: { name: CONFIG_NAME, uid: 'u', resourceVersion: '1' }, ...specs[kind.kind] };
      return { items: [kind.schema.parse(object)], resourceVersion: '1' };
    },
    watch: () => ({ [Symbol.asyncIterator]: () => ({ next: expires }) }),
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  const view = await readCluster({ client: client as Client, logger, clock }, stop.signal);
  const known = () => [view.context(), featuresOf(view.settings, '').featureSet, view.caches.operators.size, view.caches.versions.size];
  const before = known();
  expect(before).toMatchObject([{ proxy: { httpsProxy: 'http://proxy.test' } }, 'TechPreviewNoUpgrade', 1, 1]);

  isServed = false;
  await clock.advance(60_000);
  expect(known()).toEqual(before);
  stop.abort();
  await clock.advance(1_000);
  await view.stopped();
});
