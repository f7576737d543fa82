import { BackupState } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { stateDiagram } from '../diagram.ts';
import { backupJobMachine, type SpokeJobEvent, strictBackupJobMachine } from './spoke-job.ts';

const { advance, ensured, isFinal, initial, machine } = backupJobMachine;
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

const transitions: { from: BackupState; event: SpokeJobEvent['type']; to: BackupState; effects?: string[] }[] = [
  { from: 'PreparingToStart', event: 'HELD', to: 'PreparingToStart' },
  { from: 'PreparingToStart', event: 'UNAVAILABLE', to: 'PreparingToStart' },
  { from: 'Starting', event: 'HELD', to: 'Starting' },
  { from: 'Starting', event: 'UNAVAILABLE', to: 'Starting' },
  { from: 'Starting', event: 'RETRY', to: 'Starting' },
  { from: 'Active', event: 'HELD', to: 'Active' },
  { from: 'Active', event: 'UNAVAILABLE', to: 'Active' },
  { from: 'PreparingToStart', event: 'CLEANUP_REQUESTED', to: 'PreparingToStart', effects: ['clear'] },
  { from: 'PreparingToStart', event: 'NAMESPACE_GONE', to: 'Starting' },
  { from: 'PreparingToStart', event: 'DEADLINE', to: 'BackupTimeout' },
  { from: 'PreparingToStart', event: 'SPEC_CHANGED', to: 'PreparingToStart', effects: ['startOver'] },
  { from: 'Starting', event: 'SPEC_CHANGED', to: 'PreparingToStart', effects: ['startOver'] },
  { from: 'Active', event: 'SPEC_CHANGED', to: 'PreparingToStart', effects: ['startOver'] },
  { from: 'Starting', event: 'JOB_ACTIVE', to: 'Active' },
  { from: 'Starting', event: 'SUCCEEDED', to: 'Succeeded' },
  { from: 'Starting', event: 'FAILED', to: 'UnrecoverableError' },
  { from: 'Starting', event: 'DEADLINE', to: 'BackupTimeout' },
  { from: 'Active', event: 'JOB_ACTIVE', to: 'Active' },
  { from: 'Active', event: 'SUCCEEDED', to: 'Succeeded' },
  { from: 'Active', event: 'FAILED', to: 'UnrecoverableError' },
  { from: 'Active', event: 'DEADLINE', to: 'BackupTimeout' },
];

describe('the transitions', () => {
  test.each(transitions)('$from on $event becomes $to', ({ from, event, to, effects = [] }) => {
    expect(advance(from, { type: event })).toEqual({ state: to, effects });
  });

  const known = new Set(transitions.map(({ from, event }) => `${from} ${event}`));
  const others = BackupState.options
    .flatMap((from) => events.map((event) => ({ from, event })))
    .filter(({ from, event }) => !known.has(`${from} ${event}`));
  test.each(others)('$from ignores $event', ({ from, event }) => {
    expect(advance(from, { type: event })).toEqual({ state: from, effects: [] });
  });

  test('the diagram shows every one of them, and no other', () => {
    const drawn = stateDiagram(machine)
      .split('\n')
      .filter((line) => / --> \w/.test(line) && !line.includes('[*] -->'));
    expect(drawn.sort()).toEqual(transitions.map(({ from, event, to }) => `  ${from} --> ${to}: ${event}`).sort());
  });
});

test('the states are those of the API, and the first is the one the reference begins with', () => {
  expect(Object.keys(machine.states).sort()).toEqual([...BackupState.options].sort());
  expect(initial).toBe('PreparingToStart');
});

test('what has to hold in each state, and which end it', () => {
  expect(BackupState.options.map((state) => [state, ensured(state), isFinal(state)])).toEqual([
    ['PreparingToStart', ['look'], false],
    ['Starting', ['ensure', 'watch'], false],
    ['Active', ['watch'], false],
    ['Succeeded', ['remove'], true],
    ['BackupTimeout', ['forget'], true],
    ['UnrecoverableError', ['forget'], true],
  ]);
});

test('strictly, what an earlier backup left is deleted unseen', () => {
  expect(strictBackupJobMachine.ensured('PreparingToStart')).toEqual([]);
  expect(strictBackupJobMachine.advance('PreparingToStart', { type: 'CLEANUP_REQUESTED' })).toEqual({
    state: 'Starting',
    effects: ['clear'],
  });
  expect(strictBackupJobMachine.ensured('Starting')).toEqual(['ensure', 'watch']);
});
