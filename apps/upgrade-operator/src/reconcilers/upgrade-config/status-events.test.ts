import type { StepCondition, UpgradeHistory, UpgradePhase } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { statusEvents } from './status-events.ts';

const entry = (phase: UpgradePhase, ...conditions: StepCondition[]): UpgradeHistory => ({ version: '4.14.12', phase, conditions });
const said = (type: string, status: StepCondition['status'], more: Partial<StepCondition> = {}): StepCondition => ({
  type,
  status,
  ...more,
});
const told = (before: UpgradeHistory[], after: UpgradeHistory[]) =>
  statusEvents(before, after).map(({ type, reason, note }) => `${type} ${reason}: ${note}`);

test.each([
  { from: undefined, to: 'New', want: 'Normal UpgradeNew: The upgrade to 4.14.12 was taken up' },
  { from: 'New', to: 'Pending', want: 'Normal UpgradePending: The upgrade to 4.14.12 waits for its time' },
  { from: 'Pending', to: 'Upgrading', want: 'Normal UpgradeUnderWay: The upgrade to 4.14.12 has begun' },
  { from: 'Upgrading', to: 'Upgraded', want: 'Normal UpgradeDone: The upgrade to 4.14.12 is done' },
  {
    from: 'Upgrading',
    to: 'Failed',
    want: 'Warning UpgradeGivenUp: The upgrade to 4.14.12 was given up: its window ended before anything was changed',
  },
] as const)('from $from to $to', ({ from, to, want }) => {
  expect(told(from ? [entry(from)] : [], [entry(to)])).toEqual([want]);
  expect(told([entry(to)], [entry(to)])).toEqual([]);
});

test('an attempt that was withdrawn was not given up', () => {
  const ended = said('UpgradeEnded', 'True', { reason: 'Withdrawn', message: 'The upgrade to 4.14.12 was withdrawn' });
  expect(told([entry('Upgrading')], [entry('Failed', ended)])).toEqual(['Normal UpgradeWithdrawn: The upgrade to 4.14.12 was withdrawn']);
});

test('of two attempts at a version each is told of by its own place', () => {
  const before = [entry('Failed')];
  expect(told(before, [entry('New'), ...before])).toEqual(['Normal UpgradeNew: The upgrade to 4.14.12 was taken up']);
  expect(told([entry('Pending'), ...before], [entry('Upgrading'), ...before])).toEqual([
    'Normal UpgradeUnderWay: The upgrade to 4.14.12 has begun',
  ]);
});

const failing = said('ComputeCapacityReserved', 'False', { message: 'no machinesets' });
const waits = said('ComputeCapacityReserved', 'False', { message: 'in progress', waitingFor: 'node n' });
const refused = said('Validated', 'False', { reason: 'ValidationFailed', message: 'a downgrade' });
const held = said('SpecSynced', 'False', { reason: 'ChangeHeld', message: 'OCM asks for 4.15.3' });
const away = said('SpecSynced', 'False', { reason: 'ProviderUnavailable', message: 'OCM is away' });
const synced = said('SpecSynced', 'True', { reason: 'Synced', message: 'as asked' });

test.each([
  { name: 'a step that fails', before: [], after: [failing], want: ['Warning UpgradeStepFailed: ComputeCapacityReserved: no machinesets'] },
  {
    name: 'a step that fails for another reason',
    before: [failing],
    after: [{ ...failing, message: 'other' }],
    want: ['Warning UpgradeStepFailed: ComputeCapacityReserved: other'],
  },
  { name: 'a step that fails as before', before: [failing], after: [failing], want: [] },
  { name: 'a step that waits', before: [], after: [waits], want: [] },
  { name: 'a step that is done', before: [failing], after: [said('ComputeCapacityReserved', 'True')], want: [] },
  { name: 'a refusal', before: [], after: [refused], want: ['Warning ValidationFailed: a downgrade'] },
  { name: 'what was valid from the beginning', before: [], after: [said('Validated', 'True', { reason: 'Valid' })], want: [] },
  {
    name: 'what is valid now',
    before: [refused],
    after: [said('Validated', 'True', { reason: 'Valid', message: 'ok' })],
    want: ['Normal Valid: ok'],
  },
  { name: 'a change that waits', before: [], after: [held], want: ['Normal ChangeHeld: OCM asks for 4.15.3'] },
  { name: 'a provider that is away', before: [held], after: [away], want: ['Warning ProviderUnavailable: OCM is away'] },
  { name: 'a provider that is back', before: [away], after: [synced], want: ['Normal Synced: as asked'] },
  { name: 'what owners were told of', before: [], after: [said('FailedUpgrade', 'True', { message: 'sent' })], want: [] },
])('of $name', ({ before, after, want }) => {
  expect(told([entry('Upgrading', ...before)], [entry('Upgrading', ...after)])).toEqual(want);
});

test('an image whose version has become known is in no other phase', () => {
  expect(told([{ phase: 'Pending' }], [entry('Pending')])).toEqual([]);
  expect(told([], [{ phase: 'New' }])).toEqual(['Normal UpgradeNew: The upgrade was taken up']);
});

test('entries that stay as they are, are no news', () => {
  const old: UpgradeHistory = { ...entry('Upgraded', said('X', 'True')), version: '4.14.9' };
  expect(told([old], [entry('New'), old])).toEqual(['Normal UpgradeNew: The upgrade to 4.14.12 was taken up']);
});
