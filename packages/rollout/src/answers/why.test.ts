import type { Condition } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import { ACTION_COMPLETED, ActionReason, ManagedCluster, ManagedClusterAction, ManifestWork, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { openGates } from '../../testing/gate-builders.ts';
import { waitForMembers } from '../clusters/returning.ts';
import { judgeBlocking } from '../gates/blocking.ts';
import { batchGatesOf, judgeGates } from '../gates/gates.ts';
import { findHold, findPause, pauseWait } from '../gates/pause.ts';
import { findAway } from '../policies/reach.ts';
import { type Wait, WHOLE_UPGRADE, waitMessage } from '../waits/wait.ts';
import type { Seen, UpgradeFacts } from './facts.ts';
import { foldFailures, foldWaits } from './fold.ts';
import { answerWhy, Inquiry } from './why.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const iso = (secondsAgo: number): string => new Date(NOW - secondsAgo * 1000).toISOString();
const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: iso(60),
});
const RUNNING = [condition('Progressing', 'True', 'InProgress')];
const PLANNED = [condition('ClustersSelected', 'True', 'ClusterSelectionCompleted')];

/** The world of one question; what is left out is well and fresh. */
interface World {
  readonly spec?: object;
  readonly status?: object;
  readonly annotations?: Record<string, string>;
  /** Seconds since the hub renewed its Lease; `unread` where nobody may look. */
  readonly hub?: number | 'unread';
  readonly cluster?:
    | { readonly annotations?: Record<string, string>; readonly spec?: object; readonly available?: Condition['status'] }
    | 'gone';
  /** Seconds since the agent renewed its Lease. */
  readonly agent?: number;
  readonly policy?: string;
  /** Seconds since the copy of the policy, or the work, was written; `undated`: nobody has noted it. */
  readonly old?: number | 'undated';
  /** Message of the work's condition Available, which is False. */
  readonly work?: string;
  /** Actions of rollouts in the namespace of the cluster. */
  readonly approvals?: readonly ManagedClusterAction[];
  readonly blocker?: object;
}

const HELD = { annotations: { 'flotilla.io/hold': 'disk' } };
const told = (wait: Wait | undefined): string => (wait ? waitMessage(wait) : '');
/** The messages that a hub stores of the first cluster. */
const says = (wait: Wait | undefined) => ({ messages: { a: told(wait) } });

const read = <T>(object: T | undefined): Seen<T> => ({ kind: 'read', object });
const lease = (ago: number) =>
  Lease.schema.parse({
    metadata: { name: 'lease', namespace: 'flotilla' },
    spec: { holderIdentity: 'hub-1', leaseDurationSeconds: 15, renewTime: iso(ago) },
  });
const upgradeOf = (name: string, { spec = {}, status, annotations = {} }: World) =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { clusters: ['a', 'b'], remediationStrategy: { maxConcurrency: 1 }, managedPolicies: ['p'], ...spec },
    ...(status && { status: { status: {}, conditions: PLANNED, observedGeneration: 1, ...status } }),
  });

/** With the wait that a hub stores of an upgrade that does not start. */
function decided(name: string, world: World): ClusterGroupUpgrade {
  const upgrade = upgradeOf(name, world);
  const { status, spec } = upgrade;
  if (!status || status.messages || status.precaching || status.conditions?.some(({ type }) => type !== 'ClustersSelected')) return upgrade;
  const gates = batchGatesOf(upgrade, { now: NOW, talmStrict: false });
  const blocking = judgeBlocking(upgrade, (ref) => world.blocker && upgradeOf(ref.name, world.blocker));
  const wait = judgeGates({ ...openGates, ...gates, blocking, enabled: spec?.enable ?? true })?.wait;
  return wait ? { ...upgrade, status: { ...status, messages: { [WHOLE_UPGRADE]: waitMessage(wait) } } } : upgrade;
}

const clusterOf = (name: string, { annotations = {}, spec, available = 'True' }: Exclude<World['cluster'], 'gone' | undefined>) =>
  ManagedCluster.schema.parse({
    metadata: { name, annotations },
    spec: { hubAcceptsClient: true, ...spec },
    status: { conditions: [condition('ManagedClusterConditionAvailable', available, 'Any')] },
  });

function factsOf(world: World): UpgradeFacts {
  const { hub = 1, agent = 1, cluster = {} } = world;
  const managed = (name: string) => (cluster === 'gone' ? undefined : clusterOf(name, cluster));
  const upgradeAt = ({ name }: { readonly name: string }) => read(world.blocker && decided(name, world.blocker));
  return {
    upgrade: decided('u', world),
    now: NOW,
    hub: hub === 'unread' ? { kind: 'unread', why: 'you may not get leases' } : read(lease(hub)),
    cluster: (name) => read(managed(name)),
    agentLease: () => read(lease(agent)),
    upgradeAt,
    policyCopy: (_, name) =>
      read(
        world.policy === undefined
          ? undefined
          : Policy.schema.parse({
              metadata: { name: 'ns.p', namespace: name, managedFields: writtenBefore(world) },
              spec: { remediationAction: 'enforce' },
              status: { compliant: world.policy },
            }),
      ),
    policy: () => read(undefined),
    approvals: () => read(world.approvals),
    work: (name) =>
      read(
        world.work === undefined
          ? undefined
          : ManifestWork.schema.parse({
              metadata: { name: 't', namespace: name, managedFields: writtenBefore(world) },
              status: { conditions: [condition('Applied', 'True', 'x'), condition('Available', 'False', 'x', world.work)] },
            }),
      ),
  };
}

const writtenBefore = ({ old = 10 }: World) => (old === 'undated' ? [] : [{ subresource: 'status', time: iso(old) }]);

const why = (world: World, cluster?: string) => {
  const facts = factsOf(world);
  return answerWhy(new Inquiry(facts), facts.upgrade, cluster, []);
};

const inBatch = (currentBatch: number, progress: object = {}, more: object = {}) => ({
  conditions: RUNNING,
  remediationPlan: [['a'], ['b']],
  managedPoliciesForUpgrade: [{ name: 'p', namespace: 'ns' }],
  status: { startedAt: iso(600), currentBatch, currentBatchStartedAt: iso(300), currentBatchRemediationProgress: progress },
  ...more,
});
const AT_POLICY = { a: { state: 'InProgress', policyIndex: 0 } };
const waiting = (annotations: Record<string, string> = {}, spec: object = {}): World => ({
  spec,
  annotations,
  status: { remediationPlan: [['a'], ['b']] },
});

test('of two blocking upgrades of one name, the one that has not ended is the cause', () => {
  const blockingCRs = ['ns1', 'ns2'].map((namespace) => ({ name: 'x', namespace }));
  const ended = { conditions: [condition('Succeeded', 'True', 'Completed')], status: { completedAt: iso(60) } };
  const upgrades: Record<string, World> = { ns1: { status: ended }, ns2: waiting({}, { enable: false }) };
  const at = ({ name, namespace }: { name: string; namespace: string }) => decided(name, upgrades[namespace] ?? {});
  const wait = judgeGates({ ...openGates, blocking: judgeBlocking(upgradeOf('u', { spec: { blockingCRs } }), at) })?.wait;
  const messages = { [WHOLE_UPGRADE]: wait ? waitMessage(wait) : '' };
  const facts = {
    ...factsOf({ spec: { blockingCRs }, status: { remediationPlan: [['a'], ['b']], messages } }),
    upgradeAt: (ref: Parameters<typeof at>[0]) => read(at(ref)),
  };
  const { cause, chain } = answerWhy(new Inquiry(facts), facts.upgrade, 'a', []);
  expect([cause, chain.map(({ says }) => says)]).toEqual([
    'gate-enable',
    expect.arrayContaining(['waits for ClusterGroupUpgrade ns2/x to complete']),
  ]);
});

describe('a wait that the hub has stored', () => {
  const said = waitMessage({
    cause: 'placement',
    says: 'policy ns/p no longer reaches a: it is disabled',
    fix: 'set spec.disabled of Policy ns/p to false',
    since: NOW - 60_000,
    until: NOW + 60_000,
    of: { object: 'Policy ns/p', field: 'spec.disabled', value: 'true' },
  });
  const link = { object: 'Policy ns/p', field: 'spec.disabled', value: 'true' };

  test('of a cluster is the answer, also while its agent is away', () => {
    const answer = why({ status: inBatch(1, AT_POLICY, { messages: { a: said } }), cluster: { available: 'Unknown' } }, 'a');
    expect(answer.cause).toBe('placement');
    expect(answer.chain).toMatchObject([{ says: 'a: policy ns/p no longer reaches a: it is disabled', ...link }]);
    expect(answer.release).toEqual({
      says: 'Set spec.disabled of Policy ns/p to false. It times out at 2026-01-01T12:01:00.000Z.',
      byItself: false,
    });
  });

  test('of the whole upgrade is the answer of the whole', () => {
    expect(why({ status: inBatch(1, AT_POLICY, { messages: { [WHOLE_UPGRADE]: said } }) }).chain).toMatchObject([link]);
  });

  test('between batches is the answer of every cluster to come', () => {
    const status = inBatch(2, {}, { clusters: [{ name: 'a', state: 'complete' }] });
    const between = { ...status, status: { ...status.status, currentBatchStartedAt: undefined }, messages: { [WHOLE_UPGRADE]: said } };
    expect(why({ status: between }, 'b').chain.map(({ says }) => says)).toEqual([
      'batch 2 may not start yet',
      'policy ns/p no longer reaches a: it is disabled',
    ]);
    expect(why({ status: { ...between, messages: {} } }, 'b').cause).toBe('leave');
  });

  test('behind another upgrade leads to the answer of that one', () => {
    const behind = waitMessage({ cause: 'gate-blocking', says: 'x holds it', behind: { namespace: 'default', name: 'x' } });
    const world = { status: inBatch(1, AT_POLICY, { messages: { a: behind } }), blocker: waiting({}, { enable: false }) };
    expect(why(world, 'a')).toMatchObject({ cause: 'gate-enable', chain: [{ says: 'a: x holds it' }, {}] });
  });
});

describe('a cluster that a blocking upgrade keeps out', () => {
  const annotations = {
    'ran.openshift.io/blocking-cgu-completion-mode': 'partial',
    'ran.openshift.io/blocking-cgu-cluster-filtering': 'true',
    'flotilla.io/membership': 'add',
  };
  const spec = { clusters: undefined, clusterLabelSelectors: [{}], blockingCRs: [{ name: 'x', namespace: 'default' }] };
  const failed = { conditions: [condition('Succeeded', 'False', 'TimedOut')], clusters: [{ name: 'c', state: 'timedout' }] };
  const running = { status: inBatch(1, { c: { state: 'InProgress', policyIndex: 0 } }, { remediationPlan: [['c']] }) };
  const world = (blocker: World): World => ({ spec, annotations, status: inBatch(1, AT_POLICY), blocker });

  test.each([
    { name: 'that runs', blocker: running, cause: 'policy', says: /^Place the policy/ },
    { name: 'in which it failed', blocker: { status: failed }, cause: 'gate-blocking', says: /flotilla retry -n default x c/ },
    {
      name: 'in which it has no part',
      blocker: { status: { ...failed, clusters: [] } },
      cause: 'gate-blocking',
      says: /remove default\/x from spec.blockingCRs/,
    },
  ])('is told so, by one $name', ({ blocker, cause, says }) => {
    const answer = why(world(blocker), 'c');
    expect([answer.cause, answer.chain[0]?.says]).toEqual([cause, 'c is kept out until it has completed in ClusterGroupUpgrade default/x']);
    expect(answer.release.says).toMatch(says);
  });

  test('for good, where an upgrade takes nobody after its start', () => {
    const { 'flotilla.io/membership': _, ...filters } = annotations;
    expect(why({ ...world({ status: failed }), annotations: filters }, 'c')).toMatchObject({
      cause: 'gate-blocking',
      chain: [{ says: 'c was left out at the start, because it had not completed in ClusterGroupUpgrade default/x' }],
      release: { says: 'Upgrade it by another ClusterGroupUpgrade.' },
    });
  });

  test('is none where it completed there, or where nothing filters', () => {
    const done = { status: { ...failed, clusters: [{ name: 'c', state: 'complete' }] } };
    expect(why(world(done), 'c').cause).toBe('not-a-member');
    expect(why({ ...world({ status: failed }), annotations: {} }, 'c').cause).toBe('not-a-member');
  });
});

test('an upgrade that many clusters wait for is looked at once', () => {
  const clusters = Array.from({ length: 200 }, (_, at) => `c-${at}`);
  const behind = { namespace: 'default', name: 'x' };
  const says = waitMessage({ cause: 'precache-claim', says: 'waits for ClusterGroupUpgrade default/x', behind });
  const states = (state: string) => Object.fromEntries(clusters.map((name) => [name, state]));
  const messages = Object.fromEntries(clusters.map((name) => [name, says]));
  let asked = 0;
  const holder = upgradeOf('x', { spec: { clusters }, status: { precaching: { status: states('Active') } } });
  const facts: UpgradeFacts = {
    ...factsOf({
      spec: { clusters, preCaching: true },
      status: { remediationPlan: [clusters], precaching: { status: states('NotStarted'), messages } },
    }),
    upgradeAt: () => {
      asked += 1;
      return read(holder);
    },
  };
  expect(foldWaits(new Inquiry(facts))).toMatchObject([{ clusters: 200 }]);
  expect(asked).toBe(1);
});

describe('the cause of a cluster that waits', () => {
  test.each<{ name: string; world: World; cluster?: string; cause: string; certain?: boolean }>([
    { name: 'before any hub has looked', world: {}, cause: 'not-planned' },
    { name: 'while no hub leads', world: { ...waiting(), hub: 120 }, cause: 'hub-silent', certain: false },
    {
      name: 'of a refused spec',
      world: { status: { conditions: [condition('Validated', 'False', 'InvalidSpec', 'spec.x is wrong')] } },
      cause: 'refused',
    },
    { name: 'of no part of the upgrade', world: waiting(), cluster: 'stranger', cause: 'not-a-member' },
    { name: 'that is not enabled', world: waiting({}, { enable: false }), cause: 'gate-enable' },
    { name: 'behind a pause', world: waiting({ 'flotilla.io/paused': 'drain' }), cause: 'paused' },
    { name: 'behind a window', world: waiting({ 'flotilla.io/window-start': '2099-01-01T00:00:00Z' }), cause: 'gate-window' },
    { name: 'behind an annotation that is not known', world: waiting({ 'flotilla.io/windowstart': 'x' }), cause: 'gate-annotations' },
    {
      name: 'behind an upgrade that is not there',
      world: waiting({}, { blockingCRs: [{ name: 'x', namespace: 'default' }] }),
      cause: 'gate-blocking',
    },
    {
      name: 'behind an upgrade that is not enabled',
      world: { ...waiting({}, { blockingCRs: [{ name: 'x', namespace: 'default' }] }), blocker: waiting({}, { enable: false }) },
      cause: 'gate-enable',
    },
    {
      name: 'for its turn to pre-cache',
      world: { spec: { preCaching: true }, status: { precaching: { status: { a: 'NotStarted' } } } },
      cause: 'precache-line',
    },
    {
      name: 'for its turn to pre-cache, and is held',
      world: {
        spec: { preCaching: true },
        status: { precaching: { status: { a: 'NotStarted' }, messages: { a: told(findHold(clusterOf('a', HELD))) } } },
      },
      cause: 'held',
    },
    {
      name: 'for its pull',
      world: { spec: { preCaching: true }, status: { precaching: { status: { a: 'Active' } } } },
      cause: 'precache-pull',
    },
    {
      name: 'for its pull, while its agent is silent',
      world: { spec: { preCaching: true }, status: { precaching: { status: { a: 'Active' } } }, agent: 600 },
      cause: 'agent-silent',
      certain: false,
    },
    { name: 'at a policy', world: { status: inBatch(1, AT_POLICY), policy: 'NonCompliant' }, cause: 'policy' },
    { name: 'at a policy that is not placed there', world: { status: inBatch(1, AT_POLICY) }, cause: 'policy' },
    {
      name: 'at a policy, and is no ManagedCluster',
      world: { status: inBatch(1, AT_POLICY, says(waitForMembers(['a']))) },
      cause: 'cluster-missing',
    },
    {
      name: 'at a policy, and is away',
      world: { status: inBatch(1, AT_POLICY, says(findAway('a', clusterOf('a', { available: 'Unknown' })))) },
      cause: 'cluster-unavailable',
      certain: false,
    },
    {
      name: 'and is held in its batch',
      world: { status: inBatch(1, {}, says(findHold(clusterOf('a', HELD)))) },
      cause: 'held',
    },
    {
      name: 'whose edits are refused',
      world: { status: inBatch(1, { a: { state: 'Completed' } }, { messages: { a: 'may not patch' } }) },
      cause: 'refused',
    },
    { name: 'that has timed out', world: { status: inBatch(2, {}, { clusters: [{ name: 'a', state: 'timedout' }] }) }, cause: 'failed' },
    { name: 'that is done', world: { status: inBatch(2, {}, { clusters: [{ name: 'a', state: 'complete' }] }) }, cause: 'done' },
    {
      name: 'of an upgrade that has failed',
      world: { status: { conditions: [condition('Succeeded', 'False', 'TimedOut', 'took too long')], status: { completedAt: iso(1) } } },
      cause: 'failed',
    },
  ])('$name', ({ world, cluster = 'a', cause, certain = true }) => {
    const answer = why(world, cluster);
    expect([answer.cause, answer.isCertain]).toEqual([cause, certain]);
    expect(answer.release.says).not.toBe('');
    for (const { object, field, value } of answer.chain) expect([object, field, value]).not.toContain('');
  });

  test('of a later batch is that of the cluster that its batch waits for', () => {
    const answer = why({ status: inBatch(1, AT_POLICY), policy: 'NonCompliant' }, 'b');
    expect(answer.cause).toBe('policy');
    expect(answer.chain.map(({ says }) => says)).toEqual([
      'b waits for batch 2',
      'batch 1 waits for a (0 of 1 done)',
      'a is at policy p',
      'policy p is NonCompliant',
    ]);
  });

  test('is told although nobody may see whether a hub leads', () => {
    expect(why({ ...waiting({}, { enable: false }), hub: 'unread' }, 'a')).toMatchObject({ cause: 'gate-enable' });
  });
});

describe('a cluster that has timed out', () => {
  const timedOut = (at: object) => ({ status: inBatch(2, {}, { clusters: [{ name: 'a', state: 'timedout', ...at }] }) });

  test('is followed to what its policy says now', () => {
    const at = { currentPolicy: { name: 'p', status: 'NonCompliant' } };
    const { chain, release } = why({ ...timedOut(at), policy: 'NonCompliant' }, 'a');
    expect(chain.map(({ says }) => says)).toEqual(['a timed out: policy p was NonCompliant', 'policy p is NonCompliant']);
    expect(release.says).toContain('flotilla retry -n default u a');
  });

  test('says what the agent said of the manifest that it refused', () => {
    const refused = (name: string, status: Condition['status'], message: string) => ({
      resourceMeta: { ordinal: 0, kind: 'Deployment', name },
      conditions: [condition('Applied', status, 'x', message)],
    });
    const manifests = [refused('fine', 'True', 'Apply manifest complete'), refused('web', 'False', 'the site is frozen')];
    const world = timedOut({ currentManifestWork: { name: 't', status: { manifests } } });
    expect(why(world, 'a').chain.map(({ says }) => says)).toEqual(['a timed out: at ManifestWork t: Deployment web: the site is frozen']);
    expect(foldFailures(world.status as never)).toEqual([
      { says: 'timed out: at ManifestWork t: Deployment web: the site is frozen', clusters: 1, example: 'a' },
    ]);
  });
});

test('a cluster at its policy in a rollout that is stopped waits for the pause, and in one that drains for the policy', () => {
  const annotations = { 'flotilla.io/paused': 'stop' };
  const pause = findPause({ metadata: { annotations } });
  const wait = pause && pauseWait(upgradeOf('u', { annotations }), pause);
  const world = { status: inBatch(1, AT_POLICY), policy: 'NonCompliant' };
  const stopped = why({ ...world, status: inBatch(1, AT_POLICY, says(wait)), annotations }, 'a');
  expect([stopped.cause, stopped.chain[0]?.says]).toEqual(['paused', 'a: Paused, and pulls are stopped']);
  expect(stopped.release.says).toContain('flotilla resume u -n default');
  expect(why({ ...world, annotations: { 'flotilla.io/paused': 'drain' } }, 'a').cause).toBe('policy');
});

describe('a cluster at a policy with Subscriptions', () => {
  const subscription = { kind: 'Subscription', name: 'operator', apiVersion: 'operators.coreos.com/v1alpha1', namespace: 'operators' };
  const content = { managedPoliciesContent: { p: JSON.stringify([subscription]) } };
  const approval = (conditions: readonly Condition[], { namespace = 'operators', resource = 'installplan' } = {}) =>
    ManagedClusterAction.schema.parse({
      metadata: { name: 'install-x', namespace: 'a', annotations: { 'flotilla.io/retries': '3' } },
      spec: { actionType: 'Update', kube: { resource, namespace } },
      status: { conditions },
    });
  const REFUSAL = 'installplans.operators.coreos.com "install-x" is forbidden: admission webhook "freeze" denied the request';
  const refused = [condition(ACTION_COMPLETED, 'False', ActionReason.updateFailed, REFUSAL)];
  const whyWith = (...approvals: ManagedClusterAction[]) =>
    why({ status: inBatch(1, AT_POLICY, content), policy: 'NonCompliant', approvals }, 'a');

  test('whose approval was refused says so in the words of the refusal', () => {
    const { cause, chain, release } = whyWith(approval(refused));
    expect([cause, chain.at(-1), release]).toEqual([
      'policy',
      {
        says: `the approval of InstallPlan operators/install-x was refused: ${REFUSAL}`,
        object: 'ManagedClusterAction a/install-x',
        field: 'status.conditions[Completed].message',
        value: REFUSAL,
        observedAt: iso(60),
        isUnknown: false,
      },
      {
        says: 'Correct the cause of the refusal on the cluster; the approval of the InstallPlan is tried again by itself.',
        byItself: false,
      },
    ]);
  });

  test('whose approval is tried again says how often it was refused', () =>
    expect(whyWith(approval([])).chain.at(-1)).toMatchObject({
      says: 'the approval of InstallPlan operators/install-x was refused 3 times and is tried again',
      field: 'metadata.annotations[flotilla.io/retries]',
    }));

  test.each([
    ['an approval that was carried out', approval([condition(ACTION_COMPLETED, 'True', ActionReason.done)])],
    ['an approval for another namespace', approval(refused, { namespace: 'others' })],
    ['an action for something else', approval(refused, { resource: 'deployment' })],
  ])('is not held up by %s', (_, action) => expect(whyWith(action)).toEqual(whyWith()));
});

test('a window says when it opens by itself, and a pause who ends it', () => {
  const opens = why(waiting({ 'flotilla.io/window-start': '2099-01-01T00:00:00Z' })).release;
  expect(opens).toMatchObject({ byItself: true, at: '2099-01-01T00:00:00.000Z' });
  expect(why(waiting({ 'flotilla.io/paused': 'drain' })).release).toMatchObject({
    byItself: false,
    says: 'Remove the annotation flotilla.io/paused from the ClusterGroupUpgrade (flotilla resume u -n default).',
  });
});

test('thousands of clusters are folded by what they wait for', () => {
  const clusters = Array.from({ length: 5_000 }, (_, index) => `c-${index}`);
  const status = { ...inBatch(1, AT_POLICY), remediationPlan: [['a'], clusters] };
  const waits = foldWaits(new Inquiry(factsOf({ spec: { clusters: [] }, status, policy: 'NonCompliant' })));
  expect(waits.map(({ cause, clusters: count, example }) => [cause, count, example])).toEqual([
    ['batch', 5_000, 'c-0'],
    ['policy', 1, 'a'],
  ]);
});

describe('of a batch the worst cluster is explained', () => {
  const plan = { remediationPlan: [['a', 'b', 'c']] };
  const progress = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { state: 'InProgress', policyIndex: 0 }]));
  const spec = { clusters: ['a', 'b', 'c'] };
  const held = { messages: { b: told({ cause: 'held', says: 'held: disk', fix: 'lift it' }) } };
  const whole = (more: object, silent?: string) => {
    const facts = { ...factsOf({ spec, status: inBatch(1, progress, { ...plan, ...more }), policy: 'NonCompliant' }) };
    const agentLease = (name: string) => read(lease(name === silent ? 420 : 1));
    return answerWhy(new Inquiry({ ...facts, agentLease }), facts.upgrade, undefined, []);
  };
  test.each([
    ['under way', {}, undefined, 'policy', 'batch 1 waits for a (0 of 3 done)'],
    ['blocked', held, undefined, 'held', 'batch 1 waits for b (0 of 3 done)'],
    ['silent', held, 'c', 'agent-silent', 'batch 1 waits for c (0 of 3 done)'],
    [
      'failed',
      { ...held, clusters: [{ name: 'a', state: 'failed', message: 'gone' }] },
      'c',
      'failed',
      'batch 1 goes on (1 of 3 done), and a has not completed',
    ],
  ])('one that is %s', (_, more, silent, cause, says) => {
    const answer = whole(more, silent);
    expect([answer.cause, answer.chain[0]?.says]).toEqual([cause, says]);
  });
});

describe('evidence is as old as its own last change, though its cluster answers:', () => {
  const policy: World = { status: inBatch(1, AT_POLICY), policy: 'NonCompliant' };
  const work: World = {
    spec: { managedPolicies: [], manifestWorkTemplates: ['t'] },
    status: inBatch(1, { a: { state: 'InProgress', manifestWorkIndex: 0 } }, { managedPoliciesForUpgrade: undefined }),
    work: 'its object is not there',
  };
  const rows = [
    ['a policy', policy, /open-cluster-management-agent-addon/],
    ['a work', work, /see the work agent on a/],
  ] as const;
  const ages = [[10, true, iso(10)] as const, [1_200, false, iso(1_200)] as const, ['undated', false, undefined] as const];
  test.each(rows.flatMap(([name, ...row]) => ages.map((age) => [name, age[0], [...row, ...age]] as const)))(
    '%s, %s s',
    (_, __, [world, who, old, isCertain, at]) => {
      const answer = why({ ...world, old }, 'a');
      expect([answer.isCertain, answer.chain.at(-1)?.observedAt]).toEqual([isCertain, at]);
      expect(who.test(answer.release.says)).toBe(!isCertain);
    },
  );
});

test('a cluster that failed its backup is to be tried again once the upgrade has ended, and one that failed its pull at once', () => {
  const failed = { spec: { backup: true }, status: inBatch(1, {}, { clusters: [{ name: 'a', state: 'failed' }] }) };
  const withJob = (job: string) => why({ ...failed, status: { ...failed.status, [job]: { status: { a: 'UnrecoverableError' } } } }, 'a');
  expect(withJob('backup').release.says).toContain('try this cluster again once the upgrade has ended: flotilla retry -n default u a');
  expect(withJob('precaching').release.says).toContain('try this cluster again: flotilla retry -n default u a');
});

test.each([
  [
    'precaching',
    'precaching',
    'pre-caching of 2 clusters is not over; c has failed',
    'c failed to pre-cache (UnrecoverableError): no space',
  ],
  ['backup', 'backup', 'the backup of 2 clusters is not over; c has failed', 'c failed its backup (UnrecoverableError): no space'],
])('a whole upgrade whose %s goes on tells of a cluster that failed it before those that are not over', (_, job, ...want) => {
  const status = { a: 'Active', b: 'Starting', c: 'UnrecoverableError' };
  const spec = { clusters: ['a', 'b', 'c'], preCaching: true, backup: true };
  const others = job === 'backup' ? { precaching: { status: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded' } } } : {};
  const { cause, chain } = why({ spec, status: { ...others, [job]: { status, messages: { c: 'no space' } } } });
  expect([cause, chain.map(({ says }) => says)]).toEqual(['failed', want]);
});
