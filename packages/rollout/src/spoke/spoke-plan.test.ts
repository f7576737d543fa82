import { Label } from '@flotilla/api';
import { type ManagedClusterAction, type ManagedClusterView, type ManifestWork, ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import {
  buildAction,
  buildCluster,
  buildClusterGroupUpgrade,
  buildView,
  buildWork,
  CREATED_AT,
  describeWrite,
  SPOKE,
  UPGRADE,
} from '../../testing/spoke-builders.ts';
import { actionLabels, upgradeLabels } from '../upgrade/identity.ts';
import type { SpokeTarget } from '../upgrade/model.ts';
import { desiredWorkName, resourceName } from '../upgrade/safe-names.ts';
import { type ObservedSpoke, planSpoke } from './spoke-plan.ts';

const upgrade = buildClusterGroupUpgrade();
const workName = (template: string) => resourceName(upgrade, desiredWorkName(UPGRADE.namespace, template), '');
const [FIRST, SECOND] = [workName('first'), workName('second')];
const template = (name: string) =>
  ManifestWorkReplicaSet.schema.parse({
    metadata: { name, namespace: 'ns' },
    spec: { manifestWorkTemplate: { workload: { manifests: [{}] } } },
  });
const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const other = { namespace: 'other', name: 'other', uid: 'uid-other' };
const EARLIER = { ...UPGRADE, uid: 'uid-earlier' };
const ofReference = { [Label.upgradeName]: UPGRADE.name, [Label.upgradeNamespace]: UPGRADE.namespace };
const scope = { resource: 'InstallPlan', name: 'p', namespace: 'n' };
const view = (name: string, labels: Record<string, string> = upgradeLabels(UPGRADE)): ManagedClusterView => {
  const built = buildView(name, scope);
  return { ...built, metadata: { ...built.metadata, labels } };
};
const action = (name: string, labels = actionLabels(UPGRADE)): ManagedClusterAction => {
  const built = buildAction(name);
  return { ...built, metadata: { ...built.metadata, labels } };
};

const prepare = (edits?: Extract<SpokeTarget, { phase: 'prepare' }>['edits'], nameLabel = false): SpokeTarget => ({
  phase: 'prepare',
  edits,
  nameLabel,
});
const complete = (edits?: Extract<SpokeTarget, { phase: 'complete' }>['edits']): SpokeTarget => ({ phase: 'complete', edits });
const cleanup = (keepWorks = false): SpokeTarget => ({ phase: 'cleanup', keepWorks });
const work = (name: string): SpokeTarget => ({ phase: 'remediate', mode: 'manifestWork', template: name });
const policy: SpokeTarget = {
  phase: 'remediate',
  mode: 'policy',
  policy: 'p',
  subscriptions: [{ kind: 'Subscription', name: 'operator', apiVersion: 'operators.coreos.com/v1alpha1', namespace: 'operators' }],
};

interface Row {
  readonly name: string;
  readonly target: SpokeTarget;
  readonly spoke?: Partial<ObservedSpoke>;
  readonly works?: readonly ManifestWork[];
  readonly want: readonly string[];
}

const rows: Row[] = [
  { name: 'prepare without edits writes nothing', target: prepare(), want: [] },
  { name: 'prepare edits the cluster', target: prepare({ addClusterLabels: { a: '1' } }), want: ['patch ManagedCluster spoke'] },
  {
    name: 'prepare gives the cluster the label name',
    target: prepare(undefined, true),
    spoke: { managed: buildCluster({ metadata: { labels: {} } }) },
    want: ['patch ManagedCluster spoke'],
  },
  {
    name: 'prepare of a cluster that is gone writes nothing',
    target: prepare({ addClusterLabels: { a: '1' } }),
    spoke: { managed: undefined },
    want: [],
  },

  { name: 'the work of the first template is created', target: work('first'), want: [`create ManifestWork ${FIRST}`] },
  { name: 'a work that is there is left alone', target: work('first'), works: [buildWork(FIRST)], want: [] },
  { name: 'a work that somebody deletes is waited for', target: work('first'), works: [buildWork(FIRST, leaving)], want: [] },
  {
    name: 'the work before goes first',
    target: work('second'),
    works: [buildWork(FIRST)],
    want: [`delete ManifestWork ${FIRST} uid-${FIRST}`],
  },
  { name: 'the work before is deleted once', target: work('second'), works: [buildWork(FIRST, leaving)], want: [] },
  {
    name: 'with the work before gone, the next one is created',
    target: work('second'),
    want: [`create ManifestWork ${SECOND}`],
  },
  {
    name: 'both works are there after a crash: the one before goes',
    target: work('second'),
    works: [buildWork(FIRST), buildWork(SECOND)],
    want: [`delete ManifestWork ${FIRST} uid-${FIRST}`],
  },
  {
    name: 'works of other upgrades are left alone',
    target: work('first'),
    works: [buildWork('x', { labels: upgradeLabels(other) })],
    want: [`create ManifestWork ${FIRST}`],
  },
  {
    name: 'a work that an earlier upgrade of the name left goes first',
    target: work('first'),
    works: [buildWork(FIRST, { labels: upgradeLabels(EARLIER) })],
    want: [`delete ManifestWork ${FIRST} uid-${FIRST}`],
  },
  {
    name: 'a work that the reference created for this upgrade is gone on with',
    target: work('first'),
    works: [buildWork(FIRST, { labels: ofReference })],
    want: [`patch ManifestWork ${FIRST}`],
  },
  { name: 'without its template nothing is created', target: work('first'), spoke: { template: () => undefined }, want: [] },
  { name: 'nothing is created for a cluster that is gone', target: work('first'), spoke: { managed: undefined }, want: [] },
  {
    name: 'a work is created also while the cluster is away: it is applied when it is back',
    target: work('first'),
    spoke: { managed: buildCluster({ available: false }) },
    want: [`create ManifestWork ${FIRST}`],
  },

  {
    name: 'the Subscription of a policy is looked at',
    target: policy,
    want: [`create ManagedClusterView ${resourceName(upgrade, 'upgrade-ns-subscription-operator', '')}`],
  },
  {
    name: 'a view that the reference created for this upgrade is in the way',
    target: policy,
    spoke: { views: [view(resourceName(upgrade, 'upgrade-ns-subscription-operator', ''), ofReference)] },
    want: [`create ManagedClusterView ${resourceName(upgrade, 'upgrade-ns-subscription-operator', '')}`],
  },
  { name: 'nothing is looked at on a cluster that is gone', target: policy, spoke: { managed: undefined }, want: [] },

  { name: 'complete without edits and leftovers writes nothing', target: complete(), works: [buildWork(FIRST)], want: [] },
  {
    name: 'complete edits the cluster and removes views and actions; the work stays',
    target: complete({ addClusterLabels: { done: '' } }),
    works: [buildWork(FIRST)],
    spoke: { views: [view('v')], actions: [action('a')] },
    want: ['patch ManagedCluster spoke', 'delete ManagedClusterView v uid-v', 'delete ManagedClusterAction a uid-action-a'],
  },
  {
    name: 'complete leaves views and actions of others',
    target: complete(),
    spoke: { views: [view('v', upgradeLabels(other))], actions: [action('a', actionLabels(other))] },
    want: [],
  },
  {
    name: 'complete removes views that the reference created for this upgrade',
    target: complete(),
    spoke: { views: [view('v', ofReference), view('w', { ...ofReference, [Label.upgradeNamespace]: 'other' })] },
    want: ['delete ManagedClusterView v uid-v'],
  },
  {
    name: 'views and actions are removed also of a cluster that is gone',
    target: complete({ addClusterLabels: { done: '' } }),
    spoke: { managed: undefined, views: [view('v')] },
    want: ['delete ManagedClusterView v uid-v'],
  },

  {
    name: 'cleanup removes works, views and actions',
    target: cleanup(),
    works: [buildWork(FIRST), buildWork(SECOND, leaving), buildWork('x', { labels: upgradeLabels(other) })],
    spoke: { views: [view('v'), view('w', upgradeLabels(other))], actions: [action('a')] },
    want: [`delete ManifestWork ${FIRST} uid-${FIRST}`, 'delete ManagedClusterView v uid-v', 'delete ManagedClusterAction a uid-action-a'],
  },
  {
    name: 'cleanup removes what an earlier upgrade of the name left, as after a restore',
    target: cleanup(),
    works: [buildWork(FIRST, { labels: upgradeLabels(EARLIER) })],
    spoke: { views: [view('v', upgradeLabels(EARLIER))] },
    want: [`delete ManifestWork ${FIRST} uid-${FIRST}`, 'delete ManagedClusterView v uid-v'],
  },
  {
    name: 'cleanup keeps works that are to be kept',
    target: cleanup(true),
    works: [buildWork(FIRST)],
    spoke: { views: [view('v')] },
    want: ['delete ManagedClusterView v uid-v'],
  },
  { name: 'cleanup of a clean spoke writes nothing', target: cleanup(), want: [] },
];

const runningCondition = {
  type: 'Progressing',
  status: 'True',
  reason: 'InProgress',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

describe('planSpoke', () => {
  test.each(rows)('$name', ({ target, spoke, works = [], want }) => {
    const observation: ObservedSpoke = {
      upgrade,
      cluster: SPOKE,
      managed: buildCluster(),
      template,
      works,
      views: [],
      actions: [],
      ...spoke,
    };
    const { writes } = planSpoke(target, observation, { now: CREATED_AT, viewSeconds: 10, talmStrict: false });
    expect(writes.map(describeWrite)).toEqual(want);
  });

  test('a template that was edited since the rollout began makes no further work, unless strictly', () => {
    const status = {
      manifestWorkTemplates: ['first'],
      manifestWorkVersions: ['0123456789abcdef'],
      conditions: [runningCondition],
      status: {},
    };
    const spoke: ObservedSpoke = {
      upgrade: ClusterGroupUpgrade.schema.parse({ ...upgrade, status }),
      cluster: SPOKE,
      managed: buildCluster(),
      template,
      works: [],
      views: [],
      actions: [],
    };
    const writes = (talmStrict: boolean) =>
      planSpoke(work('first'), spoke, { now: CREATED_AT, viewSeconds: 10, talmStrict }).writes.map(describeWrite);
    expect([writes(false), writes(true)]).toEqual([[], [`create ManifestWork ${FIRST}`]]);
  });

  test('strictly the approvals stay until the upgrade ends, and those of a complete cluster for good', () => {
    const observation: ObservedSpoke = {
      upgrade: ClusterGroupUpgrade.schema.parse({ ...upgrade, status: { ...upgrade.status, conditions: [runningCondition] } }),
      cluster: SPOKE,
      managed: buildCluster(),
      template,
      works: [],
      views: [view('v')],
      actions: [action('a')],
    };
    const settings = { now: CREATED_AT, viewSeconds: 10, talmStrict: true };
    const writes = (target: SpokeTarget, spoke: ObservedSpoke) => planSpoke(target, spoke, settings).writes.map(describeWrite);
    for (const target of [complete(), cleanup()]) expect(writes(target, observation)).toEqual(['delete ManagedClusterView v uid-v']);
    const over = { ...observation, upgrade };
    expect(writes(cleanup(), over)).toEqual(['delete ManagedClusterView v uid-v', 'delete ManagedClusterAction a uid-action-a']);
    const recorded = (state: string) => ({
      ...over,
      upgrade: ClusterGroupUpgrade.schema.parse({ ...upgrade, status: { status: {}, clusters: [{ name: SPOKE, state }] } }),
    });
    expect(writes(cleanup(), recorded('complete'))).toEqual(['delete ManagedClusterView v uid-v']);
    expect(writes(cleanup(), recorded('timedout'))).toContain('delete ManagedClusterAction a uid-action-a');
  });

  test('a work has the name that the status remembers', () => {
    const stored = buildClusterGroupUpgrade({ status: { safeResourceNames: { '/ns.first': 'ns.first-taken' } } });
    const observation: ObservedSpoke = {
      upgrade: stored,
      cluster: SPOKE,
      managed: buildCluster(),
      template,
      works: [],
      views: [],
      actions: [],
    };
    const { writes } = planSpoke(work('first'), observation, { now: CREATED_AT, viewSeconds: 10, talmStrict: false });
    expect(writes.map(describeWrite)).toEqual(['create ManifestWork ns.first-taken']);
  });
});

describe('an approval that the reference made before we took over', () => {
  const label = { [Label.upgradeName]: `${UPGRADE.namespace}-${UPGRADE.name}` };
  const observation = (actions: readonly ManagedClusterAction[]): ObservedSpoke => ({
    upgrade,
    cluster: SPOKE,
    managed: buildCluster(),
    template: () => undefined,
    works: [],
    views: [],
    actions,
  });
  const writes = (target: SpokeTarget, actions: readonly ManagedClusterAction[]) =>
    planSpoke(target, observation(actions), { now: CREATED_AT, viewSeconds: 10, talmStrict: false }).writes.map(describeWrite);

  test.each([
    { name: 'while its cluster is at the policy', target: policy },
    { name: 'before its batch', target: prepare() },
    { name: 'when its part is over', target: cleanup() },
  ])('is removed $name, since it would fire whenever its cluster returns', ({ target }) => {
    expect(writes(target, [action('install-abcde', label)])).toContain(
      'delete ManagedClusterAction install-abcde uid-action-install-abcde',
    );
  });

  test('of another upgrade is left alone', () => {
    expect(writes(cleanup(), [action('install-abcde', { [Label.upgradeName]: 'ns-other' })])).toEqual([]);
  });
});
