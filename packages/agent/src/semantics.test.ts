import { isSameJson, withCondition } from '@flotilla/api';
import { matchesLookup, parseResourceSpelling, type ServedResource } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { actionDone, actionFailed, createTokenBucket, decidePoll, writeNamespace } from './semantics.ts';

const NOW = Date.parse('2026-01-01T00:01:00Z');
const flippedAgo = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();

test.each([
  { name: 'a view without a condition at once', view: {}, want: { query: true, requeueAfterMs: 30_000 } },
  {
    name: 'nothing inside the default interval',
    view: { lastTransitionTime: flippedAgo(10) },
    want: { query: false, requeueAfterMs: 20_000 },
  },
  {
    name: 'a zero interval as the default one',
    view: { intervalSeconds: 0, lastTransitionTime: flippedAgo(29) },
    want: { query: false, requeueAfterMs: 1000 },
  },
  {
    name: 'a view whose interval is just over',
    view: { intervalSeconds: 10, lastTransitionTime: flippedAgo(10) },
    want: { query: true, requeueAfterMs: 10_000 },
  },
  { name: 'a cleared status in mid-interval', view: { intervalSeconds: 3600 }, want: { query: true, requeueAfterMs: 3_600_000 } },
  {
    name: 'a negative interval at every touch and never by time',
    view: { intervalSeconds: -1, lastTransitionTime: flippedAgo(0) },
    want: { query: true, requeueAfterMs: undefined },
  },
])('the poll reads $name', ({ view, want }) => expect(decidePoll(view, NOW)).toEqual(want));

const kind = (group: string, version: string, name: string, plural: string): ServedResource => ({
  group,
  version,
  kind: name,
  plural,
  singular: name.toLowerCase(),
  namespaced: true,
});
const SERVED = [
  kind('', 'v1', 'ConfigMap', 'configmaps'),
  kind('apps.open-cluster-management.io', 'v1', 'Subscription', 'subscriptions'),
  kind('operators.coreos.com', 'v1', 'Subscription', 'subscriptions'),
  kind('operators.coreos.com', 'v1alpha1', 'Subscription', 'subscriptions'),
  kind('batch', 'v1', 'Job', 'jobs'),
];

function resolve(text: string): string | undefined {
  for (const lookup of parseResourceSpelling(text).lookups) {
    const hit = SERVED.find((served) => matchesLookup(served, lookup));
    if (hit) return `${hit.kind}.${hit.version}.${hit.group}`;
  }
  return undefined;
}

test.each([
  { text: 'configmaps', want: 'ConfigMap.v1.' },
  { text: 'ConfigMap', want: 'ConfigMap.v1.' },
  { text: 'subscriptions', want: 'Subscription.v1.apps.open-cluster-management.io' },
  { text: 'subscriptions.v1alpha1.operators.coreos.com', want: 'Subscription.v1alpha1.operators.coreos.com' },
  { text: 'Subscription.operators.coreos.com', want: 'Subscription.v1.operators.coreos.com' },
  { text: 'jobs.v1.batch', want: 'Job.v1.batch' },
  { text: 'Job.v1.batch', want: 'Job.v1.batch' },
  { text: 'jobs.batch', want: 'Job.v1.batch' },
  { text: 'cm', want: undefined },
  { text: 'jobs/status', want: undefined },
  { text: 'jobs.apps', want: undefined },
])('$text is $want', ({ text, want }) => expect(resolve(text)).toBe(want));

test('only a name with a dotted group costs a reset of the discovery', () => {
  expect(parseResourceSpelling('subscriptions.operators.coreos.com').resetAfter).toBe(1);
  expect(parseResourceSpelling('jobs.batch').resetAfter).toBeUndefined();
  expect(parseResourceSpelling('configmaps').resetAfter).toBeUndefined();
});

test('a condition keeps its place, and its time until the status flips', () => {
  const first = withCondition(undefined, actionFailed('Create', 'a').condition, NOW);
  const second = withCondition(first, actionFailed('Create', 'b').condition, NOW + 5000);
  expect(second).toEqual([{ ...first[0], message: 'failed to handle Create action with err: b' }]);
  expect(withCondition(second, actionDone(null).condition, NOW + 5000)[0]?.lastTransitionTime).toBe('2026-01-01T00:01:05Z');
  const both = withCondition(second, { type: 'Other', status: 'True', reason: 'Other', message: '' }, NOW);
  expect(withCondition(both, actionDone(null).condition, NOW + 5000).map(({ type, status }) => [type, status])).toEqual([
    ['Completed', 'True'],
    ['Other', 'True'],
  ]);
});

test('an unknown action type names itself, an empty one leaves two blanks', () => {
  expect(actionFailed('Patch', 'invalid action type').condition.reason).toBe('ActionTypeInvalid');
  expect(actionFailed('', 'invalid action type').condition.message).toBe('failed to handle  action with err: invalid action type');
});

test.each([
  { name: 'takes the action over nothing', args: ['a', undefined], want: 'a' },
  { name: 'takes the template when the action names none', args: [undefined, 'b'], want: 'b' },
  { name: 'takes both when they agree', args: ['a', 'a'], want: 'a' },
])('the namespace of a write $name', ({ args, want }) =>
  expect(writeNamespace(kind('', 'v1', 'ConfigMap', 'configmaps'), args[0], args[1])).toBe(want),
);

test('a bucket gives ten at once and five a second after that', () => {
  const bucket = createTokenBucket();
  const waits = Array.from({ length: 15 }, () => bucket.reserve(0));
  expect(waits.slice(0, 10).every((ms) => ms === 0)).toBe(true);
  expect(waits.slice(10)).toEqual([200, 400, 600, 800, 1000]);
  expect(bucket.reserve(2000)).toBe(0);
});

test.each([
  [{ a: [1, { b: null }] }, { a: [1, { b: null }] }, true],
  [{ a: 1 }, { a: 1, b: undefined }, false],
  [[1, 2], [2, 1], false],
  [null, {}, false],
])('%j and %j are the same: %s', (a, b, want) => expect(isSameJson(a, b)).toBe(want));
