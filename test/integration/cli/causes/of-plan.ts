import { ManagedCluster } from '@flotilla/api/ocm';
import { PreCachingConfig } from '@flotilla/api/ran';
import { createTemplate } from '../../../fixtures/work-templates.ts';
import { byPolicy, byPrecaching, type Cause, NEVER, type Scene } from './cause.ts';

const BY_NAME = (scene: Scene) => ({ clusterLabelSelectors: [{ matchLabels: { chosen: scene.name } }] });

/** What keeps an upgrade from being planned. */
export const ofPlan: readonly Cause[] = [
  {
    name: 'a cluster that does not exist',
    inject: async (scene) => byPolicy(scene, { clusters: [...scene.spokes, `${scene.name}-typo`] }),
    want: { cause: 'refused', says: /typo/ },
    release: {
      says: /[Cc]orrect spec\.clusters/,
      apply: ({ world, name, spokes }) => world.edit(name, { clusters: spokes }),
    },
  },
  {
    name: 'a selector that nobody matches',
    about: 'upgrade',
    inject: async (scene) => byPolicy(scene, { clusters: null, ...BY_NAME(scene) }),
    want: { cause: 'refused', says: /./ },
    release: {
      says: /label the clusters/,
      apply: async ({ world, name, spokes }) => {
        for (const spoke of spokes)
          await world.client.patch(ManagedCluster, { name: spoke }, { metadata: { labels: { chosen: name } } }, { type: 'merge' });
      },
    },
  },
  {
    name: 'a policy that does not exist',
    inject: ({ world, name, spokes }) => world.upgrade(name, spokes, [name]),
    want: { cause: 'refused', says: /Missing managed policies/i },
    release: { says: /[Ss]ee that each policy is there/, apply: ({ world, name, spokes }) => world.policies(spokes, { [name]: {} }) },
  },
  {
    name: 'policies in the wrong order',
    inject: async ({ world, name, spokes }) => {
      await world.policies(spokes, { [`${name}-a`]: {}, [`${name}-b`]: { dependencies: [`${name}-a`] } });
      await world.upgrade(name, spokes, [`${name}-b`, `${name}-a`]);
    },
    want: { cause: 'refused', says: /./ },
    release: {
      says: /first in spec\.managedPolicies/,
      apply: ({ world, name }) => world.edit(name, { managedPolicies: [`${name}-a`, `${name}-b`] }),
    },
  },
  {
    name: 'a template that does not exist',
    inject: ({ world, name, spokes }) => world.upgrade(name, spokes, [], { manifestWorkTemplates: [name] }),
    want: { cause: 'refused', says: /./ },
    release: { says: /[Cc]reate the ManifestWorkReplicaSet/, apply: ({ world, name }) => createTemplate(world.client, name) },
  },
  {
    name: 'a template that could never complete',
    inject: async ({ world, name, spokes }) => {
      await createTemplate(world.client, name, { expected: 'no list' });
      await world.upgrade(name, spokes, [], { manifestWorkTemplates: [name] });
    },
    want: { cause: 'refused', says: /expectedValues/ },
    release: {
      says: /[Cc]orrect the ManifestWorkReplicaSet/,
      apply: async ({ world, name }) => {
        await createTemplate(world.client, `${name}-good`);
        await world.edit(name, { manifestWorkTemplates: [`${name}-good`] });
      },
    },
  },
  {
    name: 'the label of another cluster',
    inject: async ({ world, name, spokes }) => {
      await world.policies(spokes, { [name]: { decided: true } });
      await world.client.patch(ManagedCluster, { name: spokes[0] }, { metadata: { labels: { name: 'somebody-else' } } }, { type: 'merge' });
      await world.upgrade(name, spokes, [name]);
    },
    want: { cause: 'refused', says: /label name="somebody-else"/ },
    release: {
      says: /as the message says|set it to/i,
      apply: ({ world, spokes }) =>
        world.client.patch(ManagedCluster, { name: spokes[0] }, { metadata: { labels: { name: spokes[0] } } }, { type: 'merge' }),
    },
    after: 'another cause',
  },
  {
    name: 'images that nobody knows',
    inject: (scene) => byPrecaching(scene, { preCachingConfigRef: { name: scene.name } }),
    want: { cause: 'refused', says: /./ },
    release: {
      says: /PreCachingConfig/,
      apply: ({ world, name }) =>
        world.client.create(PreCachingConfig, {
          metadata: { name, namespace: 'default' },
          spec: { overrides: { platformImage: `registry.test/release@sha256:${'b'.repeat(64)}` } },
        }),
    },
    after: 'cached',
  },
  {
    name: 'a saved plan that is another',
    inject: (scene) => byPolicy(scene, {}, { 'flotilla.io/plan': `sha256:${'0'.repeat(64)}` }),
    want: { cause: 'refused', says: /plan/ },
    release: { says: /or remove it/, apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/plan': null }) },
  },
  {
    name: 'nothing to do',
    about: 'upgrade',
    inject: ({ world, name, spokes }) => world.upgrade(name, spokes, []),
    want: { cause: 'refused', says: /./ },
    release: {
      says: /spec\.managedPolicies/,
      apply: async ({ world, name, spokes }) => {
        await world.policies(spokes, { [name]: {} });
        await world.edit(name, { managedPolicies: [name] });
      },
    },
  },
  {
    name: 'a refused spec and a pause',
    doubled: true,
    inject: ({ world, name, spokes }) => world.upgrade(name, spokes, [name], {}, { 'flotilla.io/paused': 'drain' }),
    want: { cause: 'refused', says: /./ },
    release: { says: /[Ss]ee that each policy is there/, apply: ({ world, name, spokes }) => world.policies(spokes, { [name]: {} }) },
    after: 'another cause',
  },
  {
    name: 'a refused spec and a closed window',
    doubled: true,
    inject: ({ world, name, spokes }) => world.upgrade(name, spokes, [name], {}, NEVER),
    want: { cause: 'refused', says: /./ },
    release: { says: /[Ss]ee that each policy is there/, apply: ({ world, name, spokes }) => world.policies(spokes, { [name]: {} }) },
    after: 'another cause',
  },
  {
    name: 'a policy that is gone and a cluster that does not exist',
    doubled: true,
    inject: ({ world, name, spokes }) => world.upgrade(name, [...spokes, `${name}-typo`], [name]),
    want: { cause: 'refused', says: /typo/ },
    release: { says: /[Cc]orrect spec\.clusters/, apply: ({ world, name, spokes }) => world.edit(name, { clusters: spokes }) },
    after: ({ world, name }) => world.untilCondition(name, 'Validated', /NotAllManagedPoliciesExist/),
  },
];
