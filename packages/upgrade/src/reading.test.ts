import { UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { kstatus } from '@flotilla/api/testing';
import { describe, expect, test } from 'vitest';
import { readingOf } from './reading.ts';

const nowMs = Date.parse('2026-02-01T10:00:00Z');
const NOW = '2026-02-01T10:00:00Z';
const EARLIER = '2026-02-01T09:00:00Z';
const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string) => ({
  type,
  status,
  reason,
  message: `${type} says`,
});
const build = (status: UpgradeConfig['status'], generation = 3): UpgradeConfig =>
  UpgradeConfig.schema.parse({
    metadata: { name: 'u', namespace: 'n', generation },
    spec: { type: 'OSD', upgradeAt: NOW, PDBForceDrainTimeout: 60, desired: { version: '4.14.12' } },
    status,
  });
/** Reads the object as it is stored afterwards. */
function read(entry: UpgradeHistory, { stored, generation }: { stored?: UpgradeConfig['status']; generation?: number | undefined } = {}) {
  const before = build(stored);
  return build({ ...readingOf(before, entry, { generation, nowMs }), history: [entry] });
}
const said = ({ status }: UpgradeConfig) => (status?.conditions ?? []).map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);

describe('what tools read', () => {
  test.each<{ name: string; entry: UpgradeHistory; want: string[]; tools: ReturnType<typeof kstatus> }>([
    { name: 'one that is new', entry: { phase: 'New' }, want: ['Ready False New'], tools: 'InProgress' },
    {
      name: 'one that is refused',
      entry: { phase: 'Pending', conditions: [condition('Validated', 'False', 'ValidationFailed')] },
      want: ['Ready False ValidationFailed', 'Stalled True ValidationFailed'],
      tools: 'Failed',
    },
    {
      name: 'one whose validity is not known yet',
      entry: { phase: 'Pending', conditions: [condition('Validated', 'Unknown', 'ValidationPending')] },
      want: ['Ready False Pending'],
      tools: 'InProgress',
    },
    {
      name: 'one whose pass failed, which is made again',
      entry: { phase: 'Upgrading', conditions: [condition('Reconciled', 'False', 'PassFailed')] },
      want: ['Ready False Upgrading'],
      tools: 'InProgress',
    },
    {
      name: 'one whose step fails',
      entry: { phase: 'Upgrading', conditions: [condition('ControlPlaneUpgraded', 'False', 'ControlPlaneUpgraded not done')] },
      want: ['Ready False Upgrading'],
      tools: 'InProgress',
    },
    {
      name: 'one whose operator cannot be configured',
      entry: { phase: 'Upgrading', conditions: [condition('OperatorConfigured', 'False', 'ConfigurationInvalid')] },
      want: ['Ready False ConfigurationInvalid', 'Stalled True ConfigurationInvalid'],
      tools: 'Failed',
    },
    {
      name: 'one that was given up',
      entry: {
        phase: 'Failed',
        conditions: [condition('FailedUpgrade', 'True', 'Upgrade failed'), condition('UpgradeEnded', 'True', 'GivenUp')],
      },
      want: ['Ready False GivenUp', 'Stalled True GivenUp'],
      tools: 'Failed',
    },
    {
      name: 'one that an older operator gave up, whose reason is no word',
      entry: { phase: 'Failed', conditions: [condition('FailedUpgrade', 'True', 'Upgrade failed')] },
      want: ['Ready False FailedUpgrade', 'Stalled True FailedUpgrade'],
      tools: 'Failed',
    },
    {
      name: 'one that was given up, of which nothing else is known',
      entry: { phase: 'Failed' },
      want: ['Ready False Failed', 'Stalled True Failed'],
      tools: 'Failed',
    },
    {
      name: 'one that was withdrawn makes room for the next',
      entry: { phase: 'Failed', conditions: [condition('UpgradeEnded', 'True', 'Withdrawn')] },
      want: ['Ready False Failed'],
      tools: 'InProgress',
    },
    {
      name: 'one that is done, whatever was wrong on the way',
      entry: { phase: 'Upgraded', conditions: [condition('OperatorConfigured', 'False', 'ConfigurationInvalid')] },
      want: ['Ready True Upgraded'],
      tools: 'Current',
    },
  ])('$name', ({ entry, want, tools }) => {
    const after = read(entry, { generation: 3 });
    expect([said(after), kstatus(after)]).toEqual([want, tools]);
    expect(new Set([after.status?.observedGeneration, ...(after.status?.conditions ?? []).map((each) => each.observedGeneration)])).toEqual(
      new Set([3]),
    );
  });
});

test('while its spec was not judged it keeps what stood there, and is in progress', () => {
  const done = { observedGeneration: 2, conditions: [{ ...condition('Ready', 'True', 'Upgraded'), lastTransitionTime: EARLIER }] };
  const after = read({ phase: 'Pending' }, { stored: done });
  expect([after.status?.observedGeneration, after.status?.conditions, kstatus(after)]).toEqual([2, done.conditions, 'InProgress']);
  expect(kstatus(read({ phase: 'Failed' }))).toBe('InProgress');
});

test('a transition keeps its time while the status stays', () => {
  const conditions = [{ ...condition('Ready', 'False', 'New'), lastTransitionTime: EARLIER }];
  const time = (phase: UpgradeHistory['phase']) =>
    read({ phase }, { stored: { observedGeneration: 2, conditions }, generation: 3 }).status?.conditions?.[0]?.lastTransitionTime;
  expect([time('Upgrading'), time('Upgraded')]).toEqual([EARLIER, NOW]);
});
