import { Annotation, conditionTime } from '@flotilla/api';
import { transportCrds } from '@flotilla/api/ocm';
import { ranCrds } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test as testAlone } from 'vitest';
import { z } from 'zod';
import { applyCrds } from '../../fixtures/crds.ts';
import { REFERENCE_CRDS, readReferenceCrd } from '../../fixtures/reference-resources.ts';
import { TRANSPORTS, testIn } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

/** Images are lost between the pull and the batch: found by proofs, pulled again, and nobody is upgraded before. */

const CACHING = { preCaching: true, preCachingConfigRef: { name: 'config' } };
const PROOF = { [Annotation.proofWithin]: '2h' };
const MINUTE_MS = 60_000;
/** Spokes of the sweep; FLOTILLA_PROOF_SPOKES=100 is the long form. */
const { FLOTILLA_PROOF_SPOKES: SPOKES, FLOTILLA_PROOF_SEED: SEED } = z
  .object({
    FLOTILLA_PROOF_SPOKES: z.coerce.number().int().min(4).default(8),
    FLOTILLA_PROOF_SEED: z.coerce.number().int().default(20_261_125),
  })
  .parse(process.env);

describe.each(TRANSPORTS)('by %s', (transport) => {
  const fleets = { many: SPOKES, early: 2, away: 3, plain: 1, odd: 1 };
  const test = testIn(() =>
    RolloutWorld.start({
      spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
      transport,
      job: { seconds: 1, startupMs: 200 },
      inMemory: true,
    }),
  );

  /** Pre-caches an upgrade that is not enabled yet. */
  async function precached(
    world: RolloutWorld,
    name: string,
    spec: Record<string, unknown> = {},
    annotations: Record<string, string> = PROOF,
  ) {
    const clusters = spokeNames(fleets[name as keyof typeof fleets], name);
    await world.policies(clusters, { [`${name}-p`]: {} });
    await world.upgrade(name, clusters, [`${name}-p`], { ...CACHING, enable: false, ...spec }, annotations);
    await world.untilCondition(name, 'PrecachingSuceeded', /^True PrecachingCompleted/);
    await world.untilClean(clusters);
    return clusters;
  }
  /** Kinds of the jobs of a spoke, in order: each digest says its number, and the status said its kind. */
  const jobs = (world: RolloutWorld, cluster: string) => world.spokes.jobsCreated(cluster).length;
  const enforcedAt = (world: RolloutWorld, name: string, cluster: string) =>
    world.happenedAt(`${name}-p`, cluster, 'enforced') ?? expect.fail(`${cluster} was never enforced`);

  const sweepMs = 120_000 + SPOKES * 5_000;
  test('what is lost is found and pulled again, nobody is upgraded before its proof, and the others do not wait', {
    timeout: sweepMs,
  }, async ({ world }) => {
    const clusters = await precached(world, 'many', { remediationStrategy: { maxConcurrency: 4, timeout: 240 } });
    const random = createRandom(SEED, transport);
    const lost = new Set(clusters.filter((_, index) => index === 0 || random() < 0.4));
    for (const cluster of lost) world.spokes.setFaults(cluster, { lost: true });
    await world.edit('many', { enable: true });
    await world.untilCompleted('many', 60_000 + SPOKES * 5_000);
    for (const cluster of clusters) {
      // The pull and its proof; what was lost has a proof that failed, a pull and a proof besides.
      expect(jobs(world, cluster), cluster).toBe(lost.has(cluster) ? 4 : 2);
      const succeeded = world.spokes.events(cluster).filter(({ type }) => type === 'job-succeeded');
      expect(enforcedAt(world, 'many', cluster), cluster).toBeGreaterThan(succeeded.at(-1)?.at ?? 0);
    }
    const { status } = (await world.get('many')) ?? {};
    const [first = []] = status?.remediationPlan ?? [];
    const [late = ''] = clusters;
    expect(first).not.toContain(late);
    for (const cluster of first) expect(enforcedAt(world, 'many', cluster), cluster).toBeLessThan(enforcedAt(world, 'many', late));
    expect(status?.precaching?.status).toEqual(Object.fromEntries(clusters.map((cluster) => [cluster, 'Succeeded'])));
    await world.untilClean(clusters);
  });

  test('ahead of a window proofs are made, and what they miss is there again before it opens', async ({ world }) => {
    // Strides are shorter than the hub's patience with a job, whose objects have the server's time.
    const opens = conditionTime(world.clock.now() + 12 * MINUTE_MS);
    const clusters = await precached(world, 'early', {}, { [Annotation.proofWithin]: '8m', [Annotation.windowStart]: opens });
    world.spokes.setFaults('early-2', { lost: true });
    await world.edit('early', { enable: true });
    await world.untilCondition('early', 'Progressing', /WaitingForWindow/);
    expect(clusters.map((cluster) => jobs(world, cluster))).toEqual([1, 1]);
    world.clock.skip(6.5 * MINUTE_MS);
    await eventually(() => jobs(world, 'early-1') === 2 && jobs(world, 'early-2') === 4, 'the proofs ahead of the window', 60_000);
    await world.untilClean(clusters);
    await world.untilCondition('early', 'Progressing', /WaitingForWindow/);
    for (const cluster of clusters) expect(world.happened('early-p', cluster)).toEqual(['NonCompliant']);
    world.clock.skip(Date.parse(opens) - world.clock.now());
    await world.untilCompleted('early');
    expect(clusters.map((cluster) => jobs(world, cluster))).toEqual([2, 4]);
  });

  test('a node that is away makes nobody pull again: its cluster is asked anew, and the others do not wait', async ({ world }) => {
    const [first = '', ...others] = await precached(world, 'away', { remediationStrategy: { maxConcurrency: 2, timeout: 240 } });
    world.spokes.setFaults(first, { nodeAway: true });
    await world.edit('away', { enable: true });
    await eventually(() => jobs(world, first) >= 3, 'another proof', 60_000);
    await eventually(() => others.every((cluster) => world.happened('away-p', cluster).includes('Compliant')), 'the others', 60_000);
    expect(world.happened('away-p', first)).toEqual(['NonCompliant']);
    const told = world.history('away').sights.map(({ status }) => status.precaching?.messages?.[first]);
    expect(told).toContainEqual(expect.stringContaining('timed out: 1 of 3 nodes are not proven: node-3: no puller has come from it'));
    const kinds = (await world.get('away'))?.status?.precaching?.proofs?.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['prove']));
    world.spokes.setFaults(first, {});
    await world.untilCompleted('away');
    expect(enforcedAt(world, 'away', first)).toBeGreaterThan(Math.max(...others.map((cluster) => enforcedAt(world, 'away', cluster))));
  });

  test('without the annotation nothing is proven', async ({ world }) => {
    await precached(world, 'plain', {}, {});
    world.spokes.setFaults('plain-1', { lost: true });
    await world.edit('plain', { enable: true });
    await world.untilCompleted('plain');
    expect(jobs(world, 'plain-1')).toBe(1);
    expect((await world.get('plain'))?.status?.precaching).not.toHaveProperty('proofs');
  });

  test('a time that is none is refused by name', async ({ world }) => {
    await world.policies(['odd-1'], { 'odd-p': {} });
    await world.upgrade('odd', ['odd-1'], ['odd-p'], CACHING, { [Annotation.proofWithin]: 'tonight' });
    await world.untilCondition('odd', 'Validated', /^False InvalidProof: Annotation flotilla\.io\/proof-within is "tonight", no duration/);
    expect(jobs(world, 'odd-1')).toBe(0);
  });
});

testAlone(
  'a hub whose CRD drops proofs refuses to ask for them, names the CRD, and goes on once it is replaced',
  { timeout: 120_000 },
  async () => {
    const crds = [...(await Promise.all(REFERENCE_CRDS.map(readReferenceCrd))), ...transportCrds(), ...policyCrds()];
    await using world = await RolloutWorld.start({ spokes: ['old-1'], crds, transport: 'work', job: { seconds: 1, startupMs: 200 } });
    await world.policies(['old-1'], { 'old-p': {} });
    await world.upgrade('old', ['old-1'], ['old-p'], CACHING, PROOF);
    const refused =
      /^False ProofsDropped: Annotation flotilla\.io\/proof-within needs .* clustergroupupgrades\.ran\.openshift\.io of this hub drops/;
    await world.untilCondition('old', 'Validated', refused);
    expect(world.spokes.jobsCreated('old-1')).toEqual([]);
    await applyCrds(world.client, ranCrds());
    await eventually(
      () => {
        world.clock.skip(31_000);
        return world.spokes.jobsCreated('old-1').length > 0;
      },
      'the hub to ask the server again',
      60_000,
      1_000,
    );
    await world.untilCompleted('old');
    expect(world.spokes.jobsCreated('old-1').length).toBe(2);
  },
);
