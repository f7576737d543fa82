import { PrecacheState } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { stateDiagram } from '../diagram.ts';
import { precacheJobMachine, type SpokeJobEvent } from './spoke-job.ts';

const { advance, ensured, machine } = precacheJobMachine;
const transitions: { name: string; from: PrecacheState; event: SpokeJobEvent['type']; to: PrecacheState }[] = [
  { name: 'held before the start', from: 'NotStarted', event: 'HELD', to: 'NotStarted' },
  { name: 'held while it is prepared', from: 'PreparingToStart', event: 'HELD', to: 'PreparingToStart' },
  { name: 'held before its job', from: 'Starting', event: 'HELD', to: 'Starting' },
  { name: 'held although it has its job', from: 'Active', event: 'HELD', to: 'Active' },
  { name: 'away while it is prepared', from: 'PreparingToStart', event: 'UNAVAILABLE', to: 'PreparingToStart' },
  { name: 'away before its job', from: 'Starting', event: 'UNAVAILABLE', to: 'Starting' },
  { name: 'away while it pulls', from: 'Active', event: 'UNAVAILABLE', to: 'Active' },
  { name: 'refused and tried again', from: 'Starting', event: 'RETRY', to: 'Starting' },
  { name: 'start', from: 'NotStarted', event: 'START', to: 'PreparingToStart' },
  { name: 'cleanup requested', from: 'PreparingToStart', event: 'CLEANUP_REQUESTED', to: 'PreparingToStart' },
  { name: 'namespace gone', from: 'PreparingToStart', event: 'NAMESPACE_GONE', to: 'Starting' },
  { name: 'edited while it is prepared', from: 'PreparingToStart', event: 'SPEC_CHANGED', to: 'PreparingToStart' },
  { name: 'edited while it starts', from: 'Starting', event: 'SPEC_CHANGED', to: 'PreparingToStart' },
  { name: 'edited while it runs', from: 'Active', event: 'SPEC_CHANGED', to: 'PreparingToStart' },
  { name: 'job active', from: 'Starting', event: 'JOB_ACTIVE', to: 'Active' },
  { name: 'still active', from: 'Active', event: 'JOB_ACTIVE', to: 'Active' },
  { name: 'succeeded', from: 'Active', event: 'SUCCEEDED', to: 'Succeeded' },
  { name: 'straight from starting to succeeded', from: 'Starting', event: 'SUCCEEDED', to: 'Succeeded' },
  { name: 'deadline', from: 'Active', event: 'DEADLINE', to: 'PrecacheTimeout' },
  { name: 'failed', from: 'Active', event: 'FAILED', to: 'UnrecoverableError' },
  { name: 'failed at once', from: 'Starting', event: 'FAILED', to: 'UnrecoverableError' },
  { name: 'deadline at once', from: 'Starting', event: 'DEADLINE', to: 'PrecacheTimeout' },
];
const events: SpokeJobEvent['type'][] = [
  'HELD',
  'UNAVAILABLE',
  'RETRY',
  'START',
  'CLEANUP_REQUESTED',
  'NAMESPACE_GONE',
  'SPEC_CHANGED',
  'JOB_ACTIVE',
  'SUCCEEDED',
  'DEADLINE',
  'FAILED',
];

describe('the transitions', () => {
  test.each(transitions)('$name: $from on $event becomes $to', ({ from, event, to }) => {
    expect(advance(from, { type: event }).state).toBe(to);
  });

  test('only a cleanup that was requested deletes the namespace, and only an edit what is on the hub', () => {
    const effects = transitions.map(({ name, from, event }) => ({ name, effects: advance(from, { type: event }).effects }));
    expect(effects.filter((t) => t.effects.length > 0)).toEqual([
      { name: 'cleanup requested', effects: ['clear'] },
      { name: 'edited while it is prepared', effects: ['startOver'] },
      { name: 'edited while it starts', effects: ['startOver'] },
      { name: 'edited while it runs', effects: ['startOver'] },
    ]);
  });
});

describe('everything else', () => {
  const known = new Set<string>(transitions.map((t) => `${t.from} ${t.event}`)).add('PreparingToStart DEADLINE').add('NotStarted DEADLINE');
  const others = PrecacheState.options
    .flatMap((from) => events.map((event) => ({ from, event })))
    .filter((t) => !known.has(`${t.from} ${t.event}`));

  test.each(others)('$from ignores $event', ({ from, event }) => {
    expect(advance(from, { type: event })).toEqual({ state: from, effects: [] });
  });

  test.each(['NotStarted', 'PreparingToStart'] as const)('a spoke that gets no further than %s times out', (state) => {
    expect(advance(state, { type: 'DEADLINE' }).state).toBe('PrecacheTimeout');
  });

  test('a final state leads nowhere', () => {
    for (const state of ['Succeeded', 'PrecacheTimeout', 'UnrecoverableError'] as const)
      for (const type of events) expect(advance(state, { type }).state).toBe(state);
  });
});

test('the states are those of the API', () => {
  expect(Object.keys(machine.states).sort()).toEqual([...PrecacheState.options].sort());
});

test('what has to hold in each state', () => {
  expect(Object.fromEntries(PrecacheState.options.map((state) => [state, ensured(state)]))).toEqual({
    NotStarted: [],
    PreparingToStart: ['look'],
    Starting: ['ensure', 'watch'],
    Active: ['watch'],
    Succeeded: ['remove'],
    PrecacheTimeout: ['forget'],
    UnrecoverableError: ['forget'],
  });
});

test('the diagram shows every transition', () => {
  const diagram = stateDiagram(machine);
  for (const { from, event, to } of transitions) expect(diagram).toContain(`${from} --> ${to}: ${event}`);
});
