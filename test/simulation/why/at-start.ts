import { Annotation } from '@flotilla/api';
import { PreCachingConfig } from '@flotilla/api/ran';
import type { Cause } from './cause.ts';
import { OTHER, type Scene } from './scene.ts';

const PRECACHES = { preCaching: true, preCachingConfigRef: { name: 'config' } };
const byPrecaching =
  (ifSo: number, otherwise: number): Cause['place'] =>
  ({ precaches }) =>
    precaches ? ifSo : otherwise;
/** A cluster that may not begin is asked nothing, so that its silence is not known; of two clusters the silent one comes first. */
const forbidden: Cause['place'] = ({ precaches, isOtherSilent }) => (precaches ? (isOtherSilent ? 32 : 29) : 62);
const iso = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

const edited = (spec: Readonly<Record<string, unknown>>) => (scene: Scene) => scene.edit(spec);
const annotated = (annotations: Readonly<Record<string, string | null>>) => (scene: Scene) => scene.annotate(annotations);

/** Causes that are there before the upgrade is created, in their order where there are two. */
export const atStart: readonly Cause[] = [
  {
    name: 'a cluster that does not exist',
    slots: ['clusters'],
    place: 10,
    spec: { clusters: ['spoke-1', 'spoke-2', 'typo'] },
    want: { cause: 'refused', says: /typo/ },
    advice: /[Cc]orrect spec\.clusters/,
    follow: edited({ clusters: ['spoke-1', 'spoke-2'] }),
  },
  {
    name: 'a policy that does not exist',
    slots: ['policy'],
    place: 12,
    isWithoutPolicy: true,
    want: { cause: 'refused', says: /Missing managed policies/ },
    advice: /[Ss]ee that each policy is there/,
    follow: (scene) => scene.placePolicy(),
  },
  {
    name: 'a soak that is no number',
    slots: ['policy'],
    place: 12,
    isWithoutPolicy: true,
    begin: (scene) => scene.placePolicy({ [Annotation.soakSeconds]: '30m' }),
    want: { cause: 'refused', says: /30m/ },
    advice: /Write the seconds as a whole number/,
    follow: (scene) => scene.annotatePolicy({ [Annotation.soakSeconds]: '30' }),
  },
  {
    name: 'a PreCachingConfig that does not exist',
    slots: ['config', 'faults'],
    place: 13,
    spec: { preCaching: true, preCachingConfigRef: { name: 'missing' } },
    want: { cause: 'refused', says: /missing/ },
    advice: /PreCachingConfig/,
    follow: ({ world }) =>
      world.user.create(PreCachingConfig, {
        metadata: { name: 'missing', namespace: 'default' },
        spec: { overrides: { platformImage: `registry.test/release@sha256:${'b'.repeat(64)}` } },
      }),
  },
  {
    name: 'an annotation that is not known',
    slots: ['annotation'],
    place: 12,
    annotations: { 'flotilla.io/windowstart': 'x' },
    want: { cause: 'refused', says: /windowstart/ },
    advice: /as the message says|[Cc]orrect/,
    follow: annotated({ 'flotilla.io/windowstart': null }),
  },
  {
    name: 'a window that cannot be read',
    slots: ['window'],
    place: 12,
    annotations: { [Annotation.windowStart]: 'tomorrow' },
    want: { cause: 'refused', says: /tomorrow/ },
    advice: /[Ww]rite times as/,
    follow: annotated({ [Annotation.windowStart]: null }),
  },
  {
    name: 'a pause',
    slots: ['pause'],
    place: byPrecaching(20, 52),
    annotations: { [Annotation.paused]: 'drain', [Annotation.pausedReason]: 'ticket 4711' },
    want: { cause: 'paused', says: /ticket 4711/ },
    advice: /Remove the annotation flotilla\.io\/paused .*flotilla resume u1 -n default/,
    follow: annotated({ [Annotation.paused]: null, [Annotation.pausedReason]: null }),
  },
  {
    name: 'a pull',
    slots: ['faults'],
    isOfCluster: true,
    place: 40,
    spec: PRECACHES,
    begin: (scene, cluster) => scene.fault(cluster, { jobsHeld: true }),
    want: { cause: 'precache-pull', says: /pulls: \d+ of \d+ images/ },
    advice: /ends when the bytes that are left are there/,
    follow: (scene, cluster) => scene.fault(cluster, { jobsHeld: undefined }),
  },
  {
    name: 'a pod that does not run',
    slots: ['faults'],
    isOfCluster: true,
    place: 35,
    spec: PRECACHES,
    begin: (scene, cluster) => scene.fault(cluster, { jobNeverStarts: true }),
    want: { cause: 'precache-problem', says: /no pod/ },
    advice: /get pods,events on the cluster/,
    // Its pods are created again when the cause is gone; a Job of this world has none, so it goes too.
    follow: (scene, cluster) => {
      scene.fault(cluster, { jobNeverStarts: undefined });
      return scene.onCluster('delete job', cluster);
    },
  },
  {
    name: 'an API server of a spoke that is down',
    slots: ['faults'],
    isOfCluster: true,
    place: 35,
    spec: PRECACHES,
    begin: (scene, cluster) => scene.fault(cluster, { apiServerDown: true }),
    want: { cause: 'precache-problem', says: /cannot see namespace/ },
    advice: /whether the API server of spoke-\d answers/,
    follow: (scene, cluster) => scene.fault(cluster, { apiServerDown: undefined }),
  },
  {
    name: 'an agent that does not act, of a cluster that lives',
    slots: ['link'],
    isOfCluster: true,
    place: 30,
    spec: PRECACHES,
    begin: ({ world }, cluster) => world.spokes.disconnect(`spoke-${cluster}`),
    want: { cause: 'agent-silent', says: /no word from the agent of spoke-\d/ },
    advice: /the pods of the agent/,
    dated: [0, 0],
    follow: ({ world }, cluster) => world.spokes.reconnect(`spoke-${cluster}`),
  },
  {
    name: 'a place that another upgrade has',
    slots: ['blocking', 'limits', 'clusters', 'config', 'backup', 'compliance', 'faults', 'cluster', 'link'],
    place: 38,
    spec: { ...PRECACHES, clusters: ['spoke-1'] },
    begin: async (scene) => {
      await scene.limit('pulling: 1');
      scene.fault(2, { jobsHeld: true });
      await scene.create(OTHER, { clusters: ['spoke-2'], managedPolicies: [], ...PRECACHES });
      await scene.until(() => scene.upgrade(OTHER)?.status?.precaching?.status?.['spoke-2'] === 'Active', 60_000);
    },
    want: { cause: 'limit', says: /at most 1 cluster pre-caches at a time \(ConfigMap flotilla-limits\); default\/u2 has places/ },
    advice: /begins when it has a place: flotilla limits shows who has them/,
    follow: (scene) => scene.fault(2, { jobsHeld: undefined }),
  },
  {
    name: 'places of a region that are all taken',
    slots: ['blocking', 'limits', 'clusters', 'policy', 'compliance', 'cluster', 'link'],
    place: 68,
    spec: { clusters: ['spoke-1'] },
    begin: async (scene) => {
      await scene.limit('byLabel: [{label: region, upgrading: 1}]');
      await scene.onCluster('never', 2);
      await scene.create(OTHER, { clusters: ['spoke-2'] });
      await scene.until(() => scene.isInProgressOn(2, OTHER), 60_000);
    },
    want: {
      cause: 'limit',
      says: /at most 1 cluster without the label region is upgraded at a time \(ConfigMap flotilla-limits\); default\/u2 has places/,
    },
    advice: /begins when it has a place: flotilla limits shows who has them/,
    follow: (scene) => scene.limit(''),
  },
  {
    name: 'a spoke that another upgrade is busy with',
    slots: ['blocking', 'faults'],
    place: 36,
    spec: PRECACHES,
    begin: async (scene) => {
      scene.fault(1, { jobsHeld: true });
      await scene.create(OTHER, { clusters: ['spoke-1'], managedPolicies: [], ...PRECACHES });
      await scene.until(() => scene.upgrade(OTHER)?.status?.precaching?.status?.['spoke-1'] === 'Active', 60_000);
    },
    want: { cause: 'precache-pull', says: /waits for ClusterGroupUpgrade default\/u2, which is pre-caching/ },
    advice: /ends when the bytes that are left are there/,
    follow: (scene) => scene.fault(1, { jobsHeld: undefined }),
  },
  {
    name: 'a hold',
    slots: ['cluster'],
    isOfCluster: true,
    place: forbidden,
    begin: (scene, cluster) => scene.hold(cluster, 'disk'),
    want: { cause: 'held', says: /held: disk/ },
    advice: /[Rr]emove the annotation flotilla\.io\/hold/,
    follow: (scene, cluster) => scene.hold(cluster, null),
  },
  {
    name: 'hours of a cluster that are to come',
    slots: ['cluster'],
    isOfCluster: true,
    place: 66,
    begin: (scene, cluster) => scene.annotateCluster(cluster, { 'flotilla.io/window-start': iso(scene.now + 86_400_000) }),
    want: { cause: 'cluster-hours', says: /Waiting for the window of ManagedCluster spoke-\d, which starts at/ },
    advice: /moving or removing the annotations of the ManagedCluster/,
    follow: (scene, cluster) => scene.annotateCluster(cluster, { 'flotilla.io/window-start': null }),
  },
  {
    name: 'a cluster that is away',
    slots: ['cluster', 'link'],
    isOfCluster: true,
    place: byPrecaching(30, 60),
    spec: PRECACHES,
    begin: (scene, cluster) => scene.onCluster('cut', cluster),
    want: { cause: 'cluster-unavailable', says: /not available/ },
    advice: /whether the cluster and its agent run/,
    follow: (scene, cluster) => scene.onCluster('join', cluster),
    dated: [0, 0],
  },
  {
    name: 'a cluster that is denied',
    slots: ['cluster'],
    isOfCluster: true,
    place: forbidden,
    spec: PRECACHES,
    begin: (scene, cluster) => scene.accept(cluster, false),
    want: { cause: 'cluster-denied', says: /hubAcceptsClient is false/ },
    advice: /spec\.hubAcceptsClient: true/,
    follow: (scene, cluster) => scene.accept(cluster, true),
  },
  {
    name: 'no leave',
    slots: ['enable'],
    place: 50,
    spec: { enable: false },
    want: { cause: 'gate-enable', says: /not enabled/ },
    advice: /Set spec\.enable to true/,
    follow: edited({ enable: true }),
  },
  {
    name: 'a window that opens tomorrow',
    slots: ['window'],
    place: 53,
    annotations: { [Annotation.windowStart]: '2026-01-02T00:00:00Z' },
    want: { cause: 'gate-window', says: /2026-01-02/ },
    advice: /opens at that time; moving or removing the annotations/,
    follow: annotated({ [Annotation.windowStart]: null }),
  },
  {
    name: 'a window that is over',
    slots: ['window'],
    place: 53,
    annotations: { [Annotation.windowEnd]: '2020-01-01T00:00:00Z' },
    want: { cause: 'gate-window', says: /2020/ },
    advice: /Move or remove the annotations of the window/,
    follow: (scene) => scene.annotate({ [Annotation.windowEnd]: iso(scene.now + 86_400_000) }),
  },
  {
    name: 'a blocking upgrade that is not there',
    slots: ['blocking'],
    place: 54,
    spec: { blockingCRs: [{ name: OTHER, namespace: 'default' }] },
    want: { cause: 'gate-blocking', says: /u2, which does not exist/ },
    advice: /take it out of spec\.blockingCRs/,
    follow: edited({ blockingCRs: [] }),
  },
  {
    name: 'a blocking upgrade that is paused',
    slots: ['blocking'],
    place: 54,
    spec: { blockingCRs: [{ name: OTHER, namespace: 'default' }] },
    begin: (scene) => scene.create(OTHER, { clusters: ['spoke-1'] }, { [Annotation.paused]: 'drain' }),
    want: { cause: 'paused', says: /waits for ClusterGroupUpgrade default\/u2 to complete/ },
    advice: /flotilla resume u2 -n default/,
    follow: (scene) => scene.annotate({ [Annotation.paused]: null }, OTHER),
  },
  {
    name: 'blocking upgrades in a circle',
    slots: ['blocking'],
    place: 54,
    spec: { blockingCRs: [{ name: OTHER, namespace: 'default' }] },
    begin: (scene) => scene.create(OTHER, { clusters: ['spoke-1'], blockingCRs: [{ name: 'u1', namespace: 'default' }] }),
    want: {
      cause: 'gate-blocking',
      says: /default\/u1 blocks default\/u2 blocks default\/u1|default\/u2 blocks default\/u1 blocks default\/u2/,
    },
    advice: /[Rr]emove one of blockingCRs/,
    follow: edited({ blockingCRs: [] }),
  },
  {
    name: 'a backup under way',
    slots: ['backup', 'faults', 'link', 'cluster', 'config'],
    place: 55,
    spec: { backup: true },
    begin: (scene) => scene.faultAll({ jobsHeld: true }),
    want: { cause: 'gate-backup', says: /is being backed up|whose pod does not run yet/ },
    advice: /goes on when the pod of the backup runs/,
    follow: (scene) => scene.faultAll({ jobsHeld: undefined }),
  },
  {
    name: 'placement decisions that are absent',
    slots: ['policy'],
    place: 12,
    begin: ({ world }) => world.propagator.setBound('policies', false),
    want: {
      cause: 'refused',
      says: /selects from no cluster set: .*: bind the cluster set to namespace policies by a ManagedClusterSetBinding/,
    },
    advice: /See that each policy is there, enabled and placed on the clusters/,
    follow: ({ world }) => world.propagator.setBound('policies', true),
  },
  {
    name: 'a policy that is not compliant',
    slots: ['compliance'],
    isOfCluster: true,
    place: 70,
    begin: (scene, cluster) => scene.onCluster('never', cluster),
    want: { cause: 'policy', says: /is NonCompliant/ },
    advice: /goes on when the policy is compliant/,
    follow: (scene, cluster) => scene.onCluster('comply', cluster),
    dated: [0, 15],
  },
  {
    name: 'a policy controller that is gone',
    slots: ['compliance', 'policy'],
    isOfCluster: true,
    place: 70,
    begin: (scene, cluster) => scene.onCluster('silent', cluster),
    want: { cause: 'policy', says: /policy u1-p1 is NonCompliant/ },
    advice: /Its status on spoke-\d is old, .* see its pods there/,
    follow: (scene, cluster) => scene.onCluster('comply', cluster),
    dated: [0, 15],
  },
  {
    name: 'a soak',
    slots: ['policy'],
    place: 72,
    isWithoutPolicy: true,
    begin: (scene) => scene.placePolicy({ [Annotation.soakSeconds]: '36000' }),
    want: { cause: 'soak', says: /soaks/ },
    advice: /has been compliant for its soak time/,
    follow: (scene) => scene.annotatePolicy({ [Annotation.soakSeconds]: '1' }),
  },
];
