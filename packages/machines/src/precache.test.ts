import { PrecacheState } from '@flotilla/api';
import { describe, expect, test } from 'vitest';
import { stateDiagram } from './diagram.ts';
import { advancePrecache, ensuredEffects, type PrecacheEvent, precacheMachine, precacheTransitions } from './precache.ts';

const events: PrecacheEvent['type'][] = ['START', 'CLEANUP_REQUESTED', 'NAMESPACE_GONE', 'JOB_ACTIVE', 'SUCCEEDED', 'DEADLINE', 'FAILED'];

describe('the eleven transitions', () => {
  test.each(precacheTransitions)('$name: $from on $event becomes $to', ({ from, event, to }) => {
    expect(advancePrecache(from, { type: event }).state).toBe(to);
  });

  test('there are eleven, with distinct names', () => {
    expect(new Set(precacheTransitions.map((t) => t.name)).size).toBe(11);
  });

  test('only a cleanup that was requested deletes the namespace', () => {
    const effects = precacheTransitions.map(({ name, from, event }) => ({ name, effects: advancePrecache(from, { type: event }).effects }));
    expect(effects.filter((t) => t.effects.length > 0)).toEqual([{ name: 'cleanup requested', effects: ['requestCleanup'] }]);
  });
});

describe('everything else', () => {
  const known = new Set<string>(precacheTransitions.map((t) => `${t.from} ${t.event}`)).add('PreparingToStart DEADLINE');
  const others = PrecacheState.options
    .flatMap((from) => events.map((event) => ({ from, event })))
    .filter((t) => !known.has(`${t.from} ${t.event}`));

  test.each(others)('$from ignores $event', ({ from, event }) => {
    expect(advancePrecache(from, { type: event })).toEqual({ state: from, effects: [] });
  });

  test('a spoke that never answers while it is prepared times out', () => {
    expect(advancePrecache('PreparingToStart', { type: 'DEADLINE' }).state).toBe('PrecacheTimeout');
  });

  test('a final state leads nowhere', () => {
    for (const state of ['Succeeded', 'PrecacheTimeout', 'UnrecoverableError'] as const)
      for (const type of events) expect(advancePrecache(state, { type }).state).toBe(state);
  });
});

test('the states are those of the API', () => {
  expect(Object.keys(precacheMachine.states).sort()).toEqual([...PrecacheState.options].sort());
});

test('what has to hold in each state', () => {
  expect(Object.fromEntries(PrecacheState.options.map((state) => [state, ensuredEffects(state)]))).toEqual({
    NotStarted: [],
    PreparingToStart: ['ensureNamespaceView'],
    Starting: ['ensureWorkload', 'ensureJobViews'],
    Active: ['ensureJobViews'],
    Succeeded: ['cleanUp'],
    PrecacheTimeout: ['cleanUpHub'],
    UnrecoverableError: ['cleanUpHub'],
  });
});

test('the diagram shows every transition', () => {
  const diagram = stateDiagram(precacheMachine);
  for (const { from, event, to } of precacheTransitions) expect(diagram).toContain(`${from} --> ${to}: ${event}`);
});
