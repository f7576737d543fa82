import { Lease } from '@flotilla/api/core';
import { AGENT_LEASE } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { accept, byPrecaching, type Cause, comply, hold, holdJobs, inBatch, mend, type Scene } from './cause.ts';

/** The Lease of the first spoke's agent, renewed so many seconds ago. */
async function renew({ world, spokes }: Scene, secondsAgo: number): Promise<void> {
  const renewTime = new Date(world.clock.now() - secondsAgo * 1000).toISOString().replace('Z', '000Z');
  const ref = { namespace: spokes[0], name: AGENT_LEASE };
  const spec = { holderIdentity: 'agent', leaseDurationSeconds: 60, renewTime };
  if (await world.client.get(Lease, ref)) await world.client.patch(Lease, ref, { spec }, { type: 'merge' });
  else await world.client.create(Lease, { metadata: ref, spec });
}

const accepted: Cause['release'] = { says: /spec\.hubAcceptsClient: true/, apply: (scene) => accept(scene, true) };
const reports: Cause['release'] = { says: /when the agent of \S+ reports again/, apply: (scene) => renew(scene, 0) };
const back: Cause['release'] = {
  says: /whether the cluster and its agent run/,
  apply: ({ world, spokes }) => world.setAvailable(spokes[0], true),
};
const unhold: Cause['release'] = { says: /[Rr]emove the annotation flotilla\.io\/hold/, apply: (scene) => hold(scene, null) };

/** Whether a cluster is there, and may be begun. */
export const ofClusters: readonly Cause[] = [
  {
    name: 'a cluster that is not available at its policy',
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.setAvailable(scene.spokes[0], false);
    },
    want: { cause: 'cluster-unavailable', says: /not available/, certain: false },
    release: back,
    after: 'another cause',
  },
  {
    name: 'an agent that is silent while its cluster counts as available',
    inject: async (scene) => {
      await inBatch(scene);
      await renew(scene, 600);
    },
    want: { cause: 'agent-silent', says: /no word from the agent/, certain: false },
    release: reports,
    after: 'another cause',
  },
  {
    name: 'an agent that is silent, of a cluster that its batch waits for',
    about: 'second',
    inject: async (scene) => {
      await inBatch(scene);
      await renew(scene, 600);
    },
    want: { cause: 'agent-silent', says: /batch 1 waits for \S+-1/, certain: false },
    release: reports,
    after: 'another cause',
  },
  {
    name: 'a cluster that is denied at its policy',
    inject: async (scene) => {
      await inBatch(scene);
      await accept(scene, false);
    },
    want: { cause: 'cluster-denied', says: /cluster denied: hubAcceptsClient is false/ },
    release: accepted,
    after: 'another cause',
  },
  {
    name: 'a cluster that is held in its batch',
    inject: async (scene) => {
      const { world, name, spokes } = scene;
      await hold(scene, 'disk');
      await world.policies(spokes, { [name]: {} });
      await world.upgrade(name, spokes, [name]);
    },
    want: { cause: 'held', says: /held: disk/ },
    release: unhold,
  },
  {
    name: 'a cluster that is held before it pre-caches',
    inject: async (scene) => {
      await hold(scene, 'disk');
      await byPrecaching(scene);
    },
    want: { cause: 'held', says: /held: disk/ },
    release: unhold,
    after: 'cached',
  },
  {
    name: 'a cluster that is not available before it pre-caches',
    inject: async (scene) => {
      await scene.world.setAvailable(scene.spokes[0], false);
      await byPrecaching(scene);
    },
    want: { cause: 'cluster-unavailable', says: /not available/, certain: false },
    release: back,
    after: 'cached',
  },
  {
    name: 'a cluster that goes away while it pulls',
    inject: async (scene) => {
      holdJobs(scene);
      await byPrecaching(scene);
      await untilPulling(scene);
      await scene.world.setAvailable(scene.spokes[0], false);
    },
    want: { cause: 'cluster-unavailable', says: /not available/, certain: false },
    release: {
      ...back,
      apply: async (scene) => {
        await scene.world.setAvailable(scene.spokes[0], true);
        mend(scene);
      },
    },
    after: 'cached',
  },
  {
    name: 'a cluster that is denied before it pre-caches',
    inject: async (scene) => {
      await accept(scene, false);
      await byPrecaching(scene);
    },
    want: { cause: 'cluster-denied', says: /cluster denied: hubAcceptsClient is false/ },
    release: accepted,
    after: 'cached',
  },
  {
    name: 'an agent that falls silent in a pull',
    inject: async (scene) => {
      holdJobs(scene);
      await byPrecaching(scene);
      await renew(scene, 600);
    },
    want: { cause: 'agent-silent', says: /no word from the agent/, certain: false },
    release: {
      ...reports,
      apply: async (scene) => {
        await renew(scene, 0);
        mend(scene);
      },
    },
    after: 'cached',
  },
  {
    name: 'a cluster that is no part of it',
    inject: ({ world, name, spokes }) =>
      world.upgrade(name, [spokes[1]], [], { preCaching: true, preCachingConfigRef: { name: 'config' } }),
    want: { cause: 'not-a-member', says: /no part of this upgrade/ },
    release: { says: /not selected: see spec\.clusters/, apply: ({ world, name, spokes }) => world.edit(name, { clusters: spokes }) },
    after: 'another cause',
  },
  {
    name: 'a cluster that is away and does not comply',
    doubled: true,
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.setAvailable(scene.spokes[0], false);
      await renew(scene, 600);
    },
    want: { cause: 'cluster-unavailable', says: /not available/, certain: false },
    release: back,
    after: 'another cause',
  },
  {
    name: 'a cluster that is denied and away',
    doubled: true,
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.setAvailable(scene.spokes[0], false);
      await accept(scene, false);
    },
    want: { cause: 'cluster-denied', says: /cluster denied: hubAcceptsClient is false/ },
    release: accepted,
    after: 'another cause',
  },
  {
    name: 'a pause and a hold',
    doubled: true,
    inject: async (scene) => {
      await hold(scene, 'disk');
      await byPrecaching(scene, {}, { 'flotilla.io/paused': 'drain' });
    },
    want: { cause: 'paused', says: /[Pp]aused/ },
    release: { says: /flotilla\.io\/paused/, apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/paused': null }) },
    after: 'another cause',
  },
  {
    name: 'an agent that is silent and a policy that does not comply',
    doubled: true,
    inject: async (scene) => {
      await inBatch(scene);
      await renew(scene, 600);
    },
    want: { cause: 'agent-silent', says: /no word from the agent/, certain: false },
    release: {
      ...reports,
      apply: async (scene) => {
        await renew(scene, 0);
        comply(scene);
      },
    },
  },
];

/** Waits until the puller of the first spoke has reported. */
async function untilPulling({ world, name, spokes }: Scene): Promise<void> {
  const isPulling = async () => (await world.get(name))?.status?.precaching?.status?.[spokes[0]] === 'Active';
  await eventually(isPulling, `${spokes[0]} to pull`, 60_000);
}
