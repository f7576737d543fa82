import { CLUSTER_AVAILABLE, ManagedCluster, ManifestWork } from '@flotilla/api/ocm';
import { type CacheProof, ClusterGroupUpgrade, type PrecacheState } from '@flotilla/api/ran';
import { proofsOf } from '@flotilla/rollout';
import { type Clock, createLogger, systemClock } from '@flotilla/runtime';
import { expect, test, vi } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { agentCondition, buildPrecacheSettings, UPGRADE } from '../../testing/observation-builders.ts';
import { parseStepKey } from '../steps/step-key.ts';
import { createPrecacheJob } from './kinds/precache/job.ts';
import { SpokeJobs } from './reconciler.ts';

const SPOKE = 'spoke';
/** Objects in memory are made at the beginning of the year. */
const clock: Clock = { ...systemClock, now: () => Date.parse('2026-01-01T00:00:10Z') };
const spec = { platformImage: 'registry.test/release:1' };
const proof = (number: number, kind: CacheProof['kind']): CacheProof => ({ number, kind, at: '2026-01-01T00:00:00Z', clusters: [SPOKE] });

test('an attempt whose verdict is stored is replaced by the next: its work goes, and a work of the new number comes', async () => {
  const hub = new MemoryHub();
  const stop = new AbortController();
  try {
    hub.put(ManagedCluster, { metadata: { name: SPOKE }, status: { conditions: [agentCondition(CLUSTER_AVAILABLE, 'True', 'Test')] } });
    const store = (state: PrecacheState, proofs: CacheProof[]) =>
      hub.put(ClusterGroupUpgrade, {
        metadata: { ...UPGRADE },
        spec: { remediationStrategy: { maxConcurrency: 1, timeout: 240 }, preCaching: true },
        status: { status: {}, precaching: { spec, status: { [SPOKE]: state }, proofs } },
      } as never);
    store('NotStarted', [proof(1, 'prove')]);
    const { client, caches } = await hub.process();
    const job = createPrecacheJob(buildPrecacheSettings({ transport: 'work', image: 'registry.test/puller:1' }));
    const logger = createLogger({ name: 'test', level: 'silent' });
    const jobs = new SpokeJobs(job, { client, caches, now: () => clock.now(), clock, logger, onChange: () => {} });
    const wanted: string[] = [];
    jobs.start({ enqueue: (key) => void wanted.push(key), forget: () => {}, holds: () => false }, stop.signal);
    const run = async (): Promise<void> => {
      for (const key of wanted.splice(0)) {
        const step = parseStepKey(key);
        if (step) await jobs.apply(step, stop.signal);
      }
    };
    const request = (stored: Record<string, PrecacheState>, entries: CacheProof[]) => {
      const upgrade = caches.upgrades.list()[0] ?? expect.fail('no upgrade');
      const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
      return jobs.request({ upgrade: UPGRADE, clusters: [SPOKE], stored, inputs: { ...inputs, proofs: proofsOf(entries) } });
    };
    const state = () => jobs.run(UPGRADE.uid)?.spokes.get(SPOKE)?.state;
    const storeAll = async (entries: CacheProof[]) => {
      store(state() ?? 'NotStarted', entries);
      await vi.waitFor(() => expect(caches.upgrades.list()[0]?.status?.precaching?.status?.[SPOKE]).toBe(state()));
    };
    const work = () => hub.get(ManifestWork, { namespace: SPOKE, name: 'precache-work' });
    const digest = () => work()?.metadata.annotations?.['flotilla.io/spec-digest'];

    const first = [proof(1, 'prove')];
    request({}, first);
    await storeAll(first);
    await vi.waitFor(async () => {
      await run();
      expect(digest()).toMatch(/-proof-1$/);
    });
    // The agent answers, and the job fails.
    const applied = { conditions: [agentCondition('Applied', 'True', 'AppliedManifestWorkComplete')] };
    hub.put(ManifestWork, { ...(work() ?? expect.fail('no work')), status: applied } as never);
    const second = [proof(2, 'pull')];
    request({}, second);
    await storeAll(second);
    await vi.waitFor(async () => {
      await run();
      expect(digest()).not.toMatch(/-proof-1$/);
    }, 5_000);
  } finally {
    stop.abort();
    hub.stop();
  }
});
