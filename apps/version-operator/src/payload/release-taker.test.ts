import { ClusterVersion } from '@flotilla/api/config';
import { eventually, ManualClock } from '@flotilla/pace/testing';
import type { PayloadFile } from '@flotilla/release';
import { buildReleaseHead, payloadFilesOf } from '@flotilla/release/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { readRelease } from './release.ts';
import { ReleaseTaker } from './release-taker.ts';

const imageOf = (version: string): string => `registry.example/release@sha256:${Buffer.from(version).toString('hex').padEnd(64, '0')}`;
const filesOf = (version: string): PayloadFile[] => payloadFilesOf({ ...buildReleaseHead(version), 'manifests/none.txt': '' });
const reading = { profile: 'test', featureSet: '', gatesOf: () => new Set<string>() };
const wanted = (version: string, force = false) => ({ version, image: imageOf(version), force });
const entry = (version: string) => ({
  ...{ state: 'Completed', startedTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T01:00:00Z' },
  ...{ version, image: imageOf(version), verified: true },
});

/** A cluster that has run releases, the newest first. */
const clusterAt = (versions: readonly string[], upgradeable?: 'False'): ClusterVersion =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: '' },
    status: {
      desired: { version: versions[0], image: imageOf(versions[0] ?? '') },
      history: versions.map(entry),
      conditions: upgradeable && [
        {
          type: 'Upgradeable',
          status: upgradeable,
          reason: 'NotReady',
          message: 'dns is not ready',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  });

/** A taker that began with a release, and what it retrieved. */
async function takerOf(first: string, clusterVersion: ClusterVersion) {
  const own = await readRelease(filesOf(first), { ...reading, image: imageOf(first), verified: false, local: true });
  const retrieved: string[] = [];
  const cluster: { version: ClusterVersion | undefined; duringDownload?: () => void } = { version: clusterVersion };
  const ended = { next: Promise.withResolvers<void>() };
  const taker = new ReleaseTaker(own, {
    source: {
      async retrieve({ version }) {
        retrieved.push(version);
        cluster.duringDownload?.();
        return { files: filesOf(version), verified: true, acceptedRisks: '' };
      },
      prefetch: async () => undefined,
    },
    reading: () => reading,
    clusterVersion: () => cluster.version,
    clock: new ManualClock(),
    logger: createLogger({ name: 'test', level: 'silent' }),
    signal: new AbortController().signal,
    tell: () => undefined,
    onProgress: () => {
      if (taker.acceptance.failed || taker.acceptance.step === 'PayloadLoaded') ended.next.resolve();
    },
  });
  /** Asks for a release until it is taken or refused. */
  const ask = async (release: ReturnType<typeof wanted>) => {
    ended.next = Promise.withResolvers<void>();
    taker.want(release);
    await ended.next.promise;
    return { taken: taker.taken.release.version, ...taker.acceptance };
  };
  return { taker, retrieved, cluster, ask };
}

test('the release that the operator began with is checked as any other when the cluster is sent back to it', async () => {
  const { retrieved, cluster, ask } = await takerOf('4.1.0', clusterAt(['4.1.0']));
  expect(await ask(wanted('4.2.0'))).toMatchObject({ taken: '4.2.0', failed: false });
  cluster.version = clusterAt(['4.2.0', '4.1.0']);
  const refused = await ask(wanted('4.1.0'));
  expect(refused).toMatchObject({ taken: '4.2.0', failed: true, step: 'PreconditionChecks' });
  expect(refused.message).toContain('rollbacks that change major or minor versions are not recommended');
  const forced = await ask(wanted('4.1.0', true));
  expect(forced).toMatchObject({ taken: '4.1.0', failed: false, local: false });
  expect(forced.acceptedRisks).toContain('Forced through blocking failures');
  expect(retrieved).toEqual(['4.2.0']);
});

test('a patch is taken back to the release that the operator began with, which is not retrieved', async () => {
  const { retrieved, cluster, ask } = await takerOf('4.1.0', clusterAt(['4.1.0']));
  await ask(wanted('4.1.1'));
  cluster.version = clusterAt(['4.1.1', '4.1.0']);
  expect(await ask(wanted('4.1.0'))).toMatchObject({ taken: '4.1.0', failed: false, step: 'PayloadLoaded' });
  expect(retrieved).toEqual(['4.1.1']);
});

test('what comes to speak against an update while it is downloaded counts', async () => {
  const { cluster, ask } = await takerOf('4.1.0', clusterAt(['4.1.0']));
  cluster.duringDownload = () => (cluster.version = clusterAt(['4.1.0'], 'False'));
  const refused = await ask(wanted('4.2.0'));
  expect(refused).toMatchObject({ taken: '4.1.0', failed: true, step: 'PreconditionChecks' });
  expect(refused.message).toContain('dns is not ready');
});

test('what spoke against an update and is gone when it is there does not count', async () => {
  const { cluster, ask } = await takerOf('4.1.0', clusterAt(['4.1.0'], 'False'));
  cluster.duringDownload = () => (cluster.version = clusterAt(['4.1.0']));
  expect(await ask(wanted('4.2.0'))).toMatchObject({ taken: '4.2.0', failed: false });
});

test('nothing is taken for a ClusterVersion that is gone, and what one that comes back asks for is', async () => {
  const { taker, cluster, retrieved, ask } = await takerOf('4.1.0', clusterAt(['4.1.0']));
  cluster.duringDownload = () => (cluster.version = undefined);
  void ask(wanted('4.1.1'));
  await eventually(async () => taker.acceptance.step === 'PreconditionChecks');
  expect(taker.taken.release.version).toBe('4.1.0');
  cluster.duringDownload = undefined;
  cluster.version = clusterAt(['4.1.0']);
  expect(await ask(wanted('4.1.1'))).toMatchObject({ taken: '4.1.1', failed: false });
  expect(retrieved).toEqual(['4.1.1', '4.1.1']);
});
