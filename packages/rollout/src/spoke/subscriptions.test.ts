import { KubeObject } from '@flotilla/api';
import type { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import {
  type AgentAnswer,
  buildAction,
  buildView,
  CREATED_AT,
  describeWrite,
  planOnSpoke,
  SPOKE,
  subscriptionOnSpoke,
  UPGRADE,
} from '../../testing/spoke-builders.ts';
import type { PolicyObject } from '../policies/policy-structure.ts';
import type { SubscriptionRef } from '../upgrade/model.ts';
import { trimRolloutView } from './answers.ts';
import { desiredViewName, planApprovals, policyContent } from './subscriptions.ts';

const operator: SubscriptionRef = {
  kind: 'Subscription',
  name: 'operator',
  apiVersion: 'operators.coreos.com/v1alpha1',
  namespace: 'operators',
};
const VIEW = 'upgrade-ns-subscription-operator-safe';
const PLAN = 'install-abcde';
/** Long after every outcome here. */
const LATER = CREATED_AT + 3_600_000;

const subscriptionView = (answer?: AgentAnswer): ManagedClusterView =>
  buildView(VIEW, { resource: 'Subscription.operators.coreos.com', name: 'operator', namespace: 'operators' }, answer);
const planView = (answer?: AgentAnswer, uid?: string): ManagedClusterView =>
  buildView(PLAN, { resource: 'InstallPlan', name: PLAN, namespace: 'operators' }, answer, uid);
const pending = subscriptionView({ result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: PLAN } }) });
const manual = { result: planOnSpoke({ approval: 'Manual', approved: false }) };
const approved = { result: planOnSpoke({ approval: 'Manual', approved: true }) };

interface Row {
  readonly name: string;
  readonly views?: readonly ManagedClusterView[];
  readonly actions?: readonly ManagedClusterAction[];
  readonly available?: boolean;
  readonly now?: number;
  readonly subscriptions?: readonly SubscriptionRef[];
  readonly talmStrict?: boolean;
  readonly want: readonly string[];
  readonly wakeAt?: number;
}

const lookAtPlan = `create ManagedClusterView ${PLAN}`;
const lookAgain = [`delete ManagedClusterView ${PLAN} uid-${PLAN}`, lookAtPlan];
const approve = `create ManagedClusterAction ${PLAN}`;
const ended = CREATED_AT + 60_000;

const rows: Row[] = [
  { name: 'a policy without Subscriptions needs nothing', subscriptions: [], want: [] },
  { name: 'a Subscription is looked at', want: [`create ManagedClusterView ${VIEW}`] },
  { name: 'a Subscription is looked at also while the cluster is away', available: false, want: [`create ManagedClusterView ${VIEW}`] },
  { name: 'a view without an answer is waited for', views: [subscriptionView()], want: [] },
  {
    name: 'a Subscription that is not there is waited for',
    views: [subscriptionView({ refusal: 'subscriptions.operators.coreos.com "operator" not found' })],
    want: [],
  },
  { name: 'an error is waited for', views: [subscriptionView({ refusal: 'forbidden' })], want: [] },
  {
    name: 'a Subscription without a status is waited for',
    views: [subscriptionView({ result: subscriptionOnSpoke(undefined) })],
    want: [],
  },
  {
    name: 'a Subscription that is up to date waits for nothing',
    views: [subscriptionView({ result: subscriptionOnSpoke({ state: 'AtLatestKnown', installplan: { name: PLAN } }) })],
    want: [],
  },
  {
    name: 'a pending upgrade without an InstallPlan is waited for',
    views: [subscriptionView({ result: subscriptionOnSpoke({ state: 'UpgradePending' }) })],
    want: [],
  },
  { name: 'the InstallPlan of a pending upgrade is looked at', views: [pending], want: [lookAtPlan] },
  {
    name: 'the newer reference to an InstallPlan counts',
    views: [
      subscriptionView({
        result: subscriptionOnSpoke({
          state: 'UpgradePending',
          installPlanRef: { name: 'install-new', namespace: 'operators' },
          installplan: { name: 'install-old' },
        }),
      }),
    ],
    want: ['create ManagedClusterView install-new'],
  },
  {
    name: 'an answer about another Subscription is none',
    views: [subscriptionView({ result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: PLAN } }, 'other') })],
    want: [],
  },
  {
    name: 'strictly what the view of a Subscription shows counts, whatever it is called there',
    views: [subscriptionView({ result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: PLAN } }, 'other', 'other') })],
    talmStrict: true,
    want: [lookAtPlan],
  },
  {
    name: 'strictly too an InstallPlan of another name is not approved',
    views: [pending, planView({ result: planOnSpoke({ approval: 'Manual', approved: false }, { name: 'install-other' }) })],
    talmStrict: true,
    want: [],
  },
  {
    name: 'an answer from another namespace is none',
    views: [
      subscriptionView({ result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: PLAN } }, 'operator', 'other') }),
    ],
    want: [],
  },
  {
    name: 'a view of that name that looks elsewhere is replaced',
    views: [buildView(VIEW, { resource: 'Subscription.operators.coreos.com', name: 'operator', namespace: 'other' }, { result: {} })],
    want: [`delete ManagedClusterView ${VIEW} uid-${VIEW}`, `create ManagedClusterView ${VIEW}`],
  },
  { name: 'an InstallPlan without an answer is waited for', views: [pending, planView()], want: [] },
  {
    name: 'an InstallPlan that is gone is waited for',
    views: [pending, planView({ refusal: `installplans.operators.coreos.com "${PLAN}" not found` })],
    want: [],
  },
  {
    name: 'an automatic InstallPlan is left alone',
    views: [pending, planView({ result: planOnSpoke({ approval: 'Automatic', approved: false }) })],
    want: [],
  },
  {
    name: 'an InstallPlan without an approval mode is left alone',
    views: [pending, planView({ result: planOnSpoke({ approved: false }) })],
    want: [],
  },
  { name: 'an approved InstallPlan is left alone', views: [pending, planView(approved)], want: [] },
  { name: 'a manual InstallPlan is approved', views: [pending, planView(manual)], want: [approve] },
  {
    name: 'a manual InstallPlan that does not say it is approved is approved',
    views: [pending, planView({ result: planOnSpoke({ approval: 'Manual' }) })],
    want: [approve],
  },
  {
    name: 'a manual InstallPlan that says by a text that it is not approved is approved, whatever stands before its group',
    views: [
      pending,
      planView({ result: { ...planOnSpoke({ approval: 'Manual', approved: 'false' }), apiVersion: 'old.operators.coreos.com/v1alpha1' } }),
    ],
    want: [approve],
  },
  { name: 'nothing is approved on a cluster that is away', views: [pending, planView(manual)], available: false, want: [] },
  {
    name: 'an approval that was not executed yet is waited for',
    views: [pending, planView(manual)],
    actions: [buildAction(PLAN)],
    want: [],
  },
  {
    name: 'after an approval the InstallPlan is looked at anew: its view shows what was before',
    views: [pending, planView(manual)],
    actions: [buildAction(PLAN, { outcome: 'executed' })],
    want: lookAgain,
  },
  {
    name: 'a new view without an answer is waited for',
    views: [pending, planView(undefined, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'executed' })],
    want: [],
  },
  {
    name: 'an approval that is seen is the end',
    views: [pending, planView(approved, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'executed' })],
    want: [],
  },
  {
    name: 'an approval that is seen by the first view needs no second',
    views: [pending, planView(approved)],
    actions: [buildAction(PLAN, { outcome: 'failed' })],
    want: [],
  },
  {
    name: 'after a refusal the InstallPlan is looked at anew',
    views: [pending, planView(manual)],
    actions: [buildAction(PLAN, { outcome: 'failed' })],
    want: lookAgain,
  },
  {
    name: 'a refused approval is made anew from a new answer',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'failed' })],
    want: [`delete ManagedClusterAction ${PLAN} uid-action-${PLAN}`, approve],
  },
  {
    name: 'a refused approval is made anew after a pause alone',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'failed' })],
    now: ended + 1_000,
    want: [],
    wakeAt: ended + 2_000,
  },
  {
    name: 'the pause doubles',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'failed', retries: 3 })],
    now: ended + 15_999,
    want: [],
    wakeAt: ended + 16_000,
  },
  {
    name: 'the pause is a minute at most',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'failed', retries: 1_000_000 })],
    now: ended + 59_999,
    want: [],
    wakeAt: ended + 60_000,
  },
  {
    name: 'a spoke whose clock is ahead is not waited for',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'failed' })],
    now: CREATED_AT + 2_000,
    want: [`delete ManagedClusterAction ${PLAN} uid-action-${PLAN}`, approve],
  },
  {
    name: 'nothing is made anew on a cluster that is away',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'failed' })],
    available: false,
    want: [],
  },
  {
    name: 'an approval that was withdrawn is given again',
    views: [pending, planView(manual, 'uid-new')],
    actions: [buildAction(PLAN, { outcome: 'executed' })],
    want: [`delete ManagedClusterAction ${PLAN} uid-action-${PLAN}`, approve],
  },
  {
    name: 'Subscriptions that share an InstallPlan approve it once',
    subscriptions: [operator, { ...operator, name: 'second' }],
    views: [
      pending,
      buildView(
        'upgrade-ns-subscription-second-safe',
        { resource: '', name: 'second', namespace: 'operators' },
        {
          result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: PLAN } }, 'second'),
        },
      ),
      planView(manual),
    ],
    want: [approve],
  },
  {
    name: 'Subscriptions of one name in two namespaces have a view each',
    subscriptions: [operator, { ...operator, namespace: 'other' }],
    want: [`create ManagedClusterView ${VIEW}`, 'create ManagedClusterView upgrade-ns-subscription-operator-other-safe'],
  },
];

const plan = ({ views = [], actions = [], available = true, now = LATER, ...row }: Omit<Row, 'name' | 'want'>) =>
  planApprovals({
    upgrade: UPGRADE,
    cluster: SPOKE,
    subscriptions: row.subscriptions ?? [operator],
    safeName: (desired) => `${desired}-safe`,
    views: views.map(trimRolloutView),
    actions,
    available,
    now,
    viewSeconds: 10,
    talmStrict: row.talmStrict ?? false,
  });

describe('planApprovals', () => {
  test.each(rows)('$name', (row) => {
    const { writes, wakeAt } = plan(row);
    expect(writes.map(describeWrite)).toEqual(row.want);
    expect(wakeAt).toBe(row.wakeAt);
  });

  const created = (row: Omit<Row, 'name' | 'want'>) => {
    const last = plan(row).writes.at(-1);
    return last?.verb === 'create' ? last.object : undefined;
  };

  test('an approval has the shape of the reference', () => {
    expect(created({ views: [pending, planView(manual)] })).toEqual({
      apiVersion: 'action.open-cluster-management.io/v1beta1',
      kind: 'ManagedClusterAction',
      metadata: {
        name: PLAN,
        namespace: SPOKE,
        labels: {
          'openshift-cluster-group-upgrades/clusterGroupUpgrade': 'ns-upgrade',
          'flotilla.io/upgrade-uid': 'uid-upgrade',
          'flotilla.io/work': 'rollout',
        },
        annotations: { 'flotilla.io/view': `uid-${PLAN}` },
      },
      spec: {
        actionType: 'Update',
        kube: {
          resource: 'installplan',
          namespace: 'operators',
          template: {
            apiVersion: 'operators.coreos.com/v1alpha1',
            kind: 'InstallPlan',
            metadata: { name: PLAN, resourceVersion: '42' },
            spec: { approval: 'Manual', approved: true, clusterServiceVersionNames: ['operator.v2'] },
          },
        },
      },
    });
  });

  test('an approval takes nothing away: an update removes what it does not name', () => {
    const metadata = {
      labels: { 'operators.coreos.com/operator.operators': '' },
      annotations: { note: 'kept' },
      finalizers: ['example.io/hold'],
      ownerReferences: [{ apiVersion: 'operators.coreos.com/v1alpha1', kind: 'Subscription', name: 'operator', uid: 'u' }],
    };
    const seen = { result: planOnSpoke({ approval: 'Manual', approved: false, generation: 3 }, { ...metadata, managedFields: [{}] }) };
    const action = created({ views: [pending, planView(seen)] });
    const template = KubeObject.parse(action?.spec && Reflect.get(Reflect.get(action.spec, 'kube'), 'template'));
    expect(template.metadata).toEqual({ name: PLAN, resourceVersion: '42', ...metadata });
    expect(template.spec).toEqual({ approval: 'Manual', approved: true, generation: 3, clusterServiceVersionNames: ['operator.v2'] });
  });

  test('a retry counts and says which answer it was made from', () => {
    const action = created({
      views: [pending, planView(manual, 'uid-new')],
      actions: [buildAction(PLAN, { outcome: 'failed', retries: 1 })],
    });
    expect(action?.metadata.annotations).toEqual({ 'flotilla.io/retries': '2', 'flotilla.io/view': 'uid-new' });
  });

  test('views have the scopes of the reference', () => {
    expect(created({})?.spec).toEqual({
      scope: { resource: 'Subscription.operators.coreos.com', name: 'operator', namespace: 'operators', updateIntervalSeconds: 10 },
    });
    expect(created({ views: [pending] })?.spec).toEqual({
      scope: { resource: 'InstallPlan', name: PLAN, namespace: 'operators', updateIntervalSeconds: 10 },
    });
  });

  const deep = (depth: number): unknown => {
    let value: unknown = 'end';
    for (let i = 0; i < depth; i++) value = { inside: value };
    return value;
  };
  const hostile: { name: string; result: unknown }[] = [
    { name: 'nothing', result: null },
    { name: 'a text', result: 'InstallPlan' },
    { name: 'a list', result: [] },
    { name: 'an empty object', result: {} },
    {
      name: 'another group',
      result: {
        ...subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: PLAN } }),
        apiVersion: 'apps.open-cluster-management.io/v1',
      },
    },
    { name: 'another kind', result: { ...subscriptionOnSpoke({}), kind: 'ConfigMap' } },
    { name: 'a status that is a text', result: subscriptionOnSpoke('UpgradePending') },
    { name: 'a plan whose name is no name', result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: '../secrets' } }) },
    {
      name: 'a plan whose name is too long',
      result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: 'a'.repeat(300) } }),
    },
    { name: 'a plan whose name is a number', result: subscriptionOnSpoke({ state: 'UpgradePending', installplan: { name: 1 } }) },
    {
      name: 'a plan in a namespace that is none',
      result: subscriptionOnSpoke({ state: 'UpgradePending', installPlanRef: { name: PLAN, namespace: 'A/B' } }),
    },
    { name: 'a deep object', result: deep(5_000) },
  ];
  test.each(hostile)('a Subscription that is $name asks for nothing', ({ result }) => {
    expect(plan({ views: [subscriptionView({ result })] }).writes).toEqual([]);
  });
  test.each([
    ...hostile,
    { name: 'approved by a text', result: planOnSpoke({ approval: 'Manual', approved: 'yes' }) },
    { name: 'without a version', result: planOnSpoke({ approval: 'Manual', approved: false }, { resourceVersion: undefined }) },
    { name: 'another plan', result: planOnSpoke({ approval: 'Manual', approved: false }, { name: 'install-other' }) },
    { name: 'in another namespace', result: planOnSpoke({ approval: 'Manual', approved: false }, { namespace: 'other' }) },
  ])('an InstallPlan that is $name is not approved', ({ result }) => {
    expect(plan({ views: [pending, planView({ result })] }).writes).toEqual([]);
  });
});

describe('policyContent', () => {
  const object = (definition: Record<string, unknown>, parts: Partial<PolicyObject> = {}): PolicyObject => ({
    definition,
    mustNotHave: false,
    raw: false,
    ...parts,
  });
  const subscription = (metadata: unknown, apiVersion = 'operators.coreos.com/v1alpha1') => ({
    apiVersion,
    kind: 'Subscription',
    metadata,
  });
  const there = { name: 'operator', namespace: 'operators' };

  test('is compact JSON in the order of the reference', () => {
    const objects = [object({ kind: 'Namespace' }), object(subscription(there)), object(subscription({ name: 'b', namespace: 'c' }))];
    expect(policyContent(objects)).toBe(
      '[{"kind":"Subscription","name":"operator","apiVersion":"operators.coreos.com/v1alpha1","namespace":"operators"},' +
        '{"kind":"Subscription","name":"b","apiVersion":"operators.coreos.com/v1alpha1","namespace":"c"}]',
    );
  });

  test.each<{ name: string; objects: PolicyObject[] }>([
    { name: 'no objects', objects: [] },
    { name: 'other kinds', objects: [object({ apiVersion: 'v1', kind: 'Namespace', metadata: there })] },
    { name: 'a Subscription that must not be there', objects: [object(subscription(there), { mustNotHave: true })] },
    { name: 'a Subscription of another system', objects: [object(subscription(there, 'apps.open-cluster-management.io/v1'))] },
    { name: 'no namespace', objects: [object(subscription({ name: 'operator' }))] },
    { name: 'no metadata', objects: [object(subscription(undefined))] },
    { name: 'a name that only the cluster knows', objects: [object(subscription({ name: '{{ .name }}', namespace: 'a' }))] },
    {
      name: 'a raw name that only the cluster knows',
      objects: [object(subscription({ name: 'placeholder', namespace: 'a' }), { raw: true })],
    },
  ])('is absent for $name', ({ objects }) => expect(policyContent(objects)).toBeUndefined());
});

test('a view is named in lower case after upgrade, namespace, kind and Subscription', () => {
  expect(desiredViewName({ namespace: 'Ns', name: 'Upgrade', uid: '' }, operator)).toBe('upgrade-ns-subscription-operator');
});
