import { ManifestWork } from '@flotilla/api/ocm';
import type { CacheProof, PrecacheState } from '@flotilla/api/ran';
import { proofsOf } from '@flotilla/rollout';
import { expect, test } from 'vitest';
import { JobsWorld, SPEC, SPOKE } from '../../../testing/jobs-world.ts';
import { agentCondition, buildPrecacheSettings, UPGRADE } from '../../../testing/observation-builders.ts';
import { createPrecacheJob, type PrecacheInputs } from './kinds/precache/job.ts';

const image = 'registry.test/puller:1';
const WORK = { namespace: SPOKE, name: 'precache-work' };
const proof = (number: number, kind: CacheProof['kind']): CacheProof => ({ number, kind, at: '2026-01-01T00:00:00Z', clusters: [SPOKE] });

test('an attempt whose verdict is stored is replaced by the next: its work goes, and a work of the new number comes', async () => {
  const inputs = { spec: SPEC, image, profile: 'least-privilege', jobSeconds: 14_400 } as const;
  const job = createPrecacheJob(buildPrecacheSettings({ transport: 'work', image }));
  const world = await JobsWorld.start<PrecacheState, PrecacheInputs>(job, inputs);
  try {
    const work = () => world.hub.get(ManifestWork, WORK);
    const digest = () => work()?.metadata.annotations?.['flotilla.io/spec-digest'];
    /** Makes a pass whose proof begins anew, and takes the steps of what it has stored. */
    const attempt = async (proofs: CacheProof[]) => {
      const state = world.stateOf(UPGRADE, { stored: {}, inputs: { ...inputs, proofs: proofsOf(proofs) } });
      await world.store(UPGRADE, state, { precaching: { spec: SPEC, status: { [SPOKE]: state }, proofs } });
      for (const _ of [1, 2]) {
        await world.runSteps();
        await world.clock.advance(1000);
      }
    };

    await attempt([proof(1, 'prove')]);
    expect(digest()).toMatch(/-proof-1$/);
    // The agent answers, and the job fails.
    world.hub.put(ManifestWork, {
      ...(work() ?? expect.fail('no work')),
      status: { conditions: [agentCondition('Applied', 'True', 'AppliedManifestWorkComplete')] },
    });
    await world.untilCached(ManifestWork, WORK);
    await attempt([proof(2, 'pull')]);
    expect(digest()).toMatch(/-proof-2$/);
  } finally {
    world.stop();
  }
});
