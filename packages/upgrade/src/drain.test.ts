import { describe, expect, test } from 'vitest';
import { buildBudget, buildNode, buildPod } from '../testing/upgrade-builders.ts';
import { cordonOf, type DrainSettings, drainMoments, isDrainDue, planDrain, protects } from './drain.ts';

const MINUTE = 60_000;
const since = Date.parse('2026-02-01T10:00:00Z');
const settings: DrainSettings = {
  timeOut: 45,
  expectedDrainTime: 8,
  forceDrainTimeout: 60,
  disabled: false,
  ignoredNamespaces: [/^infra-/],
};
const guarded = { labels: { app: 'guarded' } };
const budgets = [buildBudget({ matchLabels: { app: 'guarded' } })];
const terminating = { deletionTimestamp: '2026-02-01T10:00:00Z' };
const finalizers = { finalizers: ['x/y'] };
const at = (minutes: number, pods = [buildPod('p')], changes: Partial<DrainSettings> = {}) =>
  planDrain(since, pods, budgets, { ...settings, ...changes }, since + minutes * MINUTE);
const steps = (minutes: number, pods = [buildPod('p')], changes: Partial<DrainSettings> = {}) =>
  at(minutes, pods, changes).steps.map(({ strategy, action, pod }) => `${strategy} ${action} ${pod.metadata.name}`);

describe('pods without a budget', () => {
  test('stay until the time-out, and go after it', () => {
    expect(steps(45)).toEqual([]);
    expect(steps(45.1)).toEqual(['DELETE delete p']);
  });
  test('lose their finalizers', () =>
    expect(steps(46, [buildPod('p', { ...terminating, ...finalizers })])).toEqual(['DEFAULT-FINALIZER clear-finalizers p']));
  test('are deleted and lose their finalizers in one plan', () =>
    expect(steps(46, [buildPod('p', finalizers)])).toEqual(['DELETE delete p', 'DEFAULT-FINALIZER clear-finalizers p']));
  test('that hang in their end are deleted again', () =>
    expect(steps(46, [buildPod('p', terminating)])).toEqual(['POD-STUCK-TERMINATING delete p']));
});

describe('pods with a budget', () => {
  const pod = (metadata = {}) => [buildPod('p', { ...guarded, ...metadata })];
  test('stay until their own time is over', () => {
    expect(steps(67.9, pod())).toEqual([]);
    expect(steps(68.1, pod())).toEqual(['PDB-DELETE delete p']);
    expect(at(68.1, pod()).forcesBudgets).toBe(true);
  });
  test('lose their finalizers', () =>
    expect(steps(69, pod({ ...terminating, ...finalizers }))).toEqual(['PDB-FINALIZER clear-finalizers p']));
  test('that hang in their end are deleted again', () => {
    expect(steps(69, pod(terminating))).toEqual(['PDB-STUCK-TERMINATING delete p']);
    expect(at(69, pod(terminating)).forcesBudgets).toBe(false);
  });
  test('go first when their time is over first', () =>
    expect(steps(20, [...pod(), buildPod('plain')], { forceDrainTimeout: 0 })).toEqual(['PDB-DELETE delete p']));
});

test.each([
  { name: "a DaemonSet's", metadata: { ownerReferences: [{ kind: 'DaemonSet' }] } },
  { name: "the node's own", metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } },
  { name: 'one in a namespace that is left out', metadata: { namespace: 'infra-1' } },
])('leaves alone $name', ({ metadata }) => expect(steps(500, [buildPod('p', metadata)])).toEqual([]));

describe('a drain is late', () => {
  test.each([
    { name: 'without budgets: 8 minutes after the last try', pods: [buildPod('p')], minutes: 53 },
    { name: 'with budgets: 8 minutes after theirs', pods: [buildPod('p', guarded)], minutes: 76 },
  ])('$name', ({ pods, minutes }) => {
    expect(at(minutes, pods).isLate).toBe(false);
    expect(at(minutes + 0.1, pods).isLate).toBe(true);
  });
  test('not while pods have a try before them, whatever others had', () => {
    const pods = [buildPod('p'), buildPod('g', guarded)];
    expect(at(67, pods).isLate).toBe(false);
    expect(at(30, [buildPod('p')], { forceDrainTimeout: 0 }).isLate).toBe(false);
    expect(at(45.1, [buildPod('p')], { forceDrainTimeout: 0 }).isLate).toBe(false);
    expect(at(53.1, [buildPod('p')], { forceDrainTimeout: 0 }).isLate).toBe(true);
  });
  test('at the time-out when nothing may be removed', () => {
    expect(at(45, [], { disabled: true }).isLate).toBe(false);
    expect(at(45.1, [], { disabled: true })).toEqual({ steps: [], forcesBudgets: false, isLate: true });
  });
});

test('drain moments are the ends of waits', () => {
  expect(drainMoments(since, settings).map((moment) => (moment - since) / MINUTE)).toEqual([45, 53, 68, 76]);
  expect(drainMoments(since, { ...settings, disabled: true }).map((moment) => (moment - since) / MINUTE)).toEqual([45]);
  expect(isDrainDue(since, settings, since + 45 * MINUTE)).toBe(false);
  expect(isDrainDue(since, settings, since + 45 * MINUTE + 1)).toBe(true);
});

test.each([
  { name: 'all its labels', selector: { matchLabels: { app: 'a', tier: 'b' } }, want: true },
  { name: 'one of its labels', selector: { matchLabels: { app: 'a', tier: 'c' } }, want: false },
  { name: 'an expression', selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['a', 'z'] }] }, want: true },
  {
    name: 'an expression that excludes it',
    selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a'] }] },
    want: false,
  },
  { name: 'a label that must be there', selector: { matchExpressions: [{ key: 'nope', operator: 'Exists' }] }, want: false },
  { name: 'a label that must not be there', selector: { matchExpressions: [{ key: 'nope', operator: 'DoesNotExist' }] }, want: true },
  { name: 'nothing in particular', selector: {}, want: true },
  { name: 'no selector', selector: null, want: false },
])('a budget with $name protects the pod: $want', ({ selector, want }) => {
  const pod = buildPod('p', { labels: { app: 'a', tier: 'b' } });
  expect(protects(buildBudget(selector), pod)).toBe(want);
  expect(protects(buildBudget(selector, 'elsewhere'), pod)).toBe(false);
});

test.each([
  {
    name: 'unschedulable with its taint',
    spec: {
      unschedulable: true,
      taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded: '2026-02-01T10:00:00Z' }],
    },
    want: { sinceMs: since },
  },
  { name: 'unschedulable alone', spec: { unschedulable: true }, want: undefined },
  {
    name: 'the taint alone',
    spec: { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded: '2026-02-01T10:00:00Z' }] },
    want: undefined,
  },
  {
    name: 'a taint without a time',
    spec: { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
    want: 'unknown',
  },
])('a node with $name is cordoned: $want', ({ spec, want }) => expect(cordonOf(buildNode('n', { spec }))).toEqual(want));
