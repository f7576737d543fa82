import { ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import type { Cause } from './cause.ts';
import { refOf, type Scene, SECOND_TEMPLATE, TEMPLATE } from './scene.ts';

const DAY_MS = 86_400_000;

/** Causes that come over the clusters of a batch, whatever is rolled out. */
const ofClusters: readonly Cause[] = [
  {
    name: 'no hub that leads',
    slots: ['hub'],
    place: 0,
    begin: ({ world }) => world.killHub(1),
    want: { cause: 'hub-silent', says: /no hub/ },
    advice: /Start the hub/,
    follow: ({ world }) => world.startHub(1),
    dated: [0, 60],
  },
  {
    name: 'a cluster that is away',
    slots: ['cluster'],
    isOfCluster: true,
    place: 30,
    begin: (scene, cluster) => scene.onCluster('cut', cluster),
    want: { cause: 'cluster-unavailable', says: /not available/ },
    advice: /whether the cluster and its agent run/,
    follow: (scene, cluster) => scene.onCluster('join', cluster),
    dated: [0, 0],
  },
  {
    name: 'a lease of an agent that is old',
    slots: ['lease'],
    isOfCluster: true,
    place: 30,
    begin: (scene, cluster) => scene.renew(cluster, scene.now - 600_000),
    want: { cause: 'agent-silent', says: /no word from the agent of spoke-\d/ },
    advice: /goes on when the agent of spoke-\d reports again/i,
    follow: (scene, cluster) => scene.renew(cluster, scene.now + DAY_MS),
    dated: [600, 600],
  },
  {
    name: 'a cluster that is denied',
    slots: ['cluster'],
    isOfCluster: true,
    // The worst of two clusters comes first, and of two causes of one cluster the one that ends soonest.
    place: ({ isOtherSilent }) => (isOtherSilent ? 32 : 24),
    begin: (scene, cluster) => scene.accept(cluster, false),
    want: { cause: 'cluster-denied', says: /hubAcceptsClient is false/ },
    advice: /spec\.hubAcceptsClient: true/,
    follow: (scene, cluster) => scene.accept(cluster, true),
  },
];

/** Causes that come over a batch of policies, in their order where there are two. */
export const inBatch: readonly Cause[] = [
  ...ofClusters,
  {
    name: 'a pause that stops',
    slots: ['pause'],
    place: 20,
    begin: (scene) => scene.annotate({ 'flotilla.io/paused': 'stop' }),
    want: { cause: 'paused', says: /[Pp]aused/ },
    advice: /Remove the annotation flotilla\.io\/paused/,
    follow: (scene) => scene.annotate({ 'flotilla.io/paused': null }),
  },
  {
    name: 'a policy that is disabled',
    slots: ['policy'],
    place: 28,
    begin: (scene) => scene.onPolicy('disable'),
    want: { cause: 'policy', says: /no longer reaches spoke-\d: it is disabled/ },
    advice: /Set spec\.disabled of Policy policies\/u1-p1 to false/,
    follow: (scene) => scene.onPolicy('restore policy'),
  },
  {
    name: 'a policy that is bound no more',
    slots: ['policy'],
    place: 28,
    begin: (scene) => scene.onPolicy('unbind'),
    want: { cause: 'policy', says: /no PlacementBinding binds it/ },
    advice: /PlacementBinding/,
    follow: (scene) => scene.onPolicy('restore policy'),
  },
  {
    name: 'a policy that is deleted',
    slots: ['policy'],
    place: 28,
    begin: (scene) => scene.onPolicy('remove policy'),
    want: { cause: 'policy', says: /it was deleted/ },
    advice: /Create Policy policies\/u1-p1 again/,
    follow: (scene) => scene.onPolicy('restore policy'),
  },
  {
    name: 'placement decisions that are absent',
    slots: ['placement'],
    place: 28,
    begin: ({ world }) => world.propagator.setBound('policies', false),
    want: { cause: 'policy', says: /selects from no cluster set/ },
    advice: /Bind the cluster set to namespace policies by a ManagedClusterSetBinding/,
    follow: ({ world }) => world.propagator.setBound('policies', true),
  },
  {
    name: 'a policy that is not compliant',
    slots: ['compliance'],
    place: 70,
    want: { cause: 'policy', says: /is NonCompliant/ },
    advice: /goes on when the policy is compliant/,
    follow: (scene) => scene.stick(false),
    dated: [-15, 60],
  },
];

const editTemplate =
  (manifestWorkTemplate: object) =>
  ({ world }: Scene) =>
    world.user.patch(ManifestWorkReplicaSet, refOf(TEMPLATE), { spec: { manifestWorkTemplate } }, { type: 'merge' });

/** The same for a batch of works. */
export const inWorks: readonly Cause[] = [
  ...ofClusters,
  {
    name: 'a template that is deleted',
    slots: ['template'],
    place: 21,
    begin: ({ world }) => world.user.delete(ManifestWorkReplicaSet, refOf(TEMPLATE)),
    want: { cause: 'work', says: /ManifestWorkReplicaSet default\/u1-t1 is gone/ },
    advice: /Create it again as it was, or delete the upgrade/,
    follow: (scene) => scene.placeTemplate(),
  },
  {
    name: 'a template that is edited',
    slots: ['template'],
    place: 21,
    begin: editTemplate({ deleteOption: { propagationPolicy: 'Orphan' } }),
    want: { cause: 'work', says: /default\/u1-t1 is not what the rollout began with/ },
    advice: /Put it back as it was/,
    follow: editTemplate({ deleteOption: null }),
  },
  {
    name: 'a pause that stops before the next work',
    slots: ['pause', 'work', 'template'],
    place: 20,
    spec: { manifestWorkTemplates: [TEMPLATE, SECOND_TEMPLATE] },
    begin: async (scene) => {
      await scene.annotate({ 'flotilla.io/paused': 'stop' });
      await scene.stick(false);
    },
    want: { cause: 'paused', says: /spoke-\d: [Pp]aused/ },
    advice: /Remove the annotation flotilla\.io\/paused/,
    follow: (scene) => scene.annotate({ 'flotilla.io/paused': null }),
  },
  {
    name: 'a work that cannot be applied',
    slots: ['work'],
    place: 70,
    want: { cause: 'work', says: /the agent may not create it/ },
    advice: /Correct the manifest, or the rights of the agent/,
    follow: (scene) => scene.stick(false),
    dated: [0, 60],
  },
];
