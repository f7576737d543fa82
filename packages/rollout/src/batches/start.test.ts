import { expect, test } from 'vitest';
import { failed } from '../upgrade/texts.ts';
import { startRollout, stateBeforeStart } from './start.ts';

const NOW = Date.parse('2026-01-01T00:00:00.9Z');
const START = '2026-01-01T00:00:00Z';
const none = { status: {} };
const given = { compliant: [], isCompliant: () => false, canaries: undefined, maxConcurrency: 2, now: NOW };
const DONE = { state: 'Completed' };

test('the plan is made of who is left, in full batches', () => {
  const started = startRollout(none, { ...given, clusters: ['d', 'b', 'c'], canaries: ['b', 'gone'] });
  expect(started.remediationPlan).toEqual([['b'], ['d', 'c']]);
  expect(started.status).toEqual({ startedAt: START, currentBatchRemediationProgress: undefined });
});

test('who complied from the beginning, and who does by now, waits for its last edits; who failed before does not', () => {
  const before = { status: {}, clusters: [{ name: 'x', state: 'failed' }] };
  const started = startRollout(before, {
    ...given,
    clusters: ['a', 'b'],
    compliant: ['z', 'x'],
    isCompliant: (cluster) => cluster === 'b',
  });
  expect(started.remediationPlan).toEqual([['a']]);
  expect(started.status.currentBatchRemediationProgress).toEqual({ z: DONE, b: DONE });
  expect(started.clusters).toEqual(before.clusters);
});

test('strictly, who failed before and complies now is done, with its last edits', () => {
  const before = {
    status: {},
    clusters: [
      { name: 'x', state: 'failed' },
      { name: 'y', state: 'failed' },
    ],
  };
  const started = startRollout(before, { ...given, clusters: ['a'], compliant: ['x'], talmStrict: true });
  expect(started.status.currentBatchRemediationProgress).toEqual({ x: DONE });
  expect(started.clusters).toEqual([{ name: 'y', state: 'failed' }]);
});

test('without anything to do there is no plan', () => {
  expect(startRollout(none, { ...given, clusters: [] }).remediationPlan).toBeUndefined();
});

test('a clock that runs already runs on', () => {
  const before = { status: { startedAt: '2025-12-31T00:00:00Z' } };
  expect(startRollout(before, { ...given, clusters: ['a'] }).status.startedAt).toBe('2025-12-31T00:00:00Z');
});

test.each<{ name: string; seen: Parameters<typeof stateBeforeStart>[0]; want: string }>([
  { name: 'a plan that is refused', seen: { isPlanned: false, refusal: undefined }, want: 'validating' },
  { name: 'spokes that pull', seen: { isPlanned: true, refusal: { gate: 'precaching' } }, want: 'preCaching' },
  { name: 'spokes that all failed', seen: { isPlanned: true, refusal: { gate: 'precaching', outcome: failed('all') } }, want: 'ended' },
  { name: 'a gate that refuses', seen: { isPlanned: true, refusal: { gate: 'blocking' } }, want: 'gated' },
  {
    name: 'a gate that nobody gets through',
    seen: { isPlanned: true, refusal: { gate: 'filter', outcome: failed('none') } },
    want: 'ended',
  },
  { name: 'nothing in the way', seen: { isPlanned: true, refusal: undefined }, want: 'preparing' },
])('before the start, $name: $want', ({ seen, want }) => expect(stateBeforeStart(seen)).toBe(want));
