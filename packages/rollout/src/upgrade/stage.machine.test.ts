import { expect, test } from 'vitest';
import { stateDiagram } from '../diagram.ts';
import { nextRolloutState, type RolloutLook, type RolloutState, rolloutMachine } from './stage.ts';

interface Row {
  name: string;
  from: RolloutState;
  seen: RolloutLook;
  to: RolloutState;
}

const rows: Row[] = [
  { name: 'cannot be planned', from: 'validating', seen: { isPlanned: false }, to: 'validating' },
  { name: 'can be planned', from: 'validating', seen: { isPlanned: true }, to: 'preCaching' },
  { name: 'has spokes that still pull', from: 'preCaching', seen: { isPrecached: false }, to: 'preCaching' },
  { name: 'has its images', from: 'preCaching', seen: { isPrecached: true }, to: 'gated' },
  { name: 'has no spoke with its images', from: 'preCaching', seen: { hasVerdict: true }, to: 'ended' },
  { name: 'is refused by a gate', from: 'gated', seen: { isOpen: false, hasBegun: false }, to: 'gated' },
  { name: 'may begin', from: 'gated', seen: { isOpen: true, hasBegun: false }, to: 'preparing' },
  { name: 'is held between two batches', from: 'gated', seen: { isOpen: false, hasBegun: true }, to: 'gated' },
  { name: 'may begin a batch', from: 'gated', seen: { isOpen: true, hasBegun: true }, to: 'batch' },
  { name: 'is ended by a gate', from: 'gated', seen: { isOpen: false, hasBegun: false, hasVerdict: true }, to: 'ended' },
  { name: 'runs out of time at a gate that opens', from: 'gated', seen: { isOpen: true, hasBegun: true, hasVerdict: true }, to: 'ended' },
  { name: 'waits for first edits', from: 'preparing', seen: { isPrepared: false }, to: 'preparing' },
  { name: 'is prepared', from: 'preparing', seen: { isPrepared: true }, to: 'gated' },
  { name: 'has nothing to do', from: 'preparing', seen: { isPrepared: true, hasVerdict: true }, to: 'ended' },
  { name: 'has clusters under way', from: 'batch', seen: { isThrough: false, isLast: true }, to: 'batch' },
  { name: 'is through with a batch', from: 'batch', seen: { isThrough: true, isLast: false }, to: 'gated' },
  { name: 'is through with its last batch', from: 'batch', seen: { isThrough: true, isLast: true }, to: 'lookingBack' },
  { name: 'loses a canary', from: 'batch', seen: { isThrough: false, isLast: false, hasVerdict: true }, to: 'ended' },
  { name: 'waits for who is late', from: 'lookingBack', seen: { hasVerdict: false }, to: 'lookingBack' },
  { name: 'has its verdict', from: 'lookingBack', seen: { hasVerdict: true }, to: 'ended' },
  { name: 'has something left to remove', from: 'ended', seen: { isClean: false, hasVerdict: true }, to: 'ended' },
  { name: 'has nothing left', from: 'ended', seen: { isClean: true }, to: 'cleaned' },
  { name: 'is over', from: 'cleaned', seen: { isClean: false, isPlanned: true }, to: 'cleaned' },
];

test.each(rows)('$from, one that $name: $to', ({ from, seen, to }) => expect(nextRolloutState(from, seen)).toBe(to));

test('a look that shows nothing changes nothing', () => {
  const states: readonly RolloutState[] = ['validating', 'preCaching', 'gated', 'preparing', 'batch', 'lookingBack', 'ended', 'cleaned'];
  expect(Object.keys(rolloutMachine.states)).toEqual(states);
  for (const state of states) expect(nextRolloutState(state, {})).toBe(state);
});

test('the table takes every way of the diagram', () => {
  const ways = new Set(rows.filter(({ from, to }) => from !== to).map(({ from, to }) => `${from} --> ${to}`));
  const drawn = stateDiagram(rolloutMachine)
    .split('\n')
    .filter((line) => / --> \w/.test(line) && !line.includes('[*]'))
    .map((line) => line.trim().replace(/:.*/, ''));
  expect([...new Set(drawn)].sort()).toEqual([...ways].sort());
});
