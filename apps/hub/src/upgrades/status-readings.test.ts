import type { Condition } from '@flotilla/api';
import { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade, kstatus } from '@flotilla/api/testing';
import { describe, expect, test } from 'vitest';
import { withReading, withSummary } from './status-readings.ts';

const before = '2026-01-01T00:00:00Z';
const now = new Date('2026-01-01T00:05:00Z');
const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: before,
});
const valid = [condition('ClustersSelected', 'True', 'ClusterSelectionCompleted'), condition('Validated', 'True', 'ValidationCompleted')];
const over = { reason: 'WaitingForWindow', message: 'The window ended' } as const;

const upgradeOf = (
  conditions: readonly Condition[],
  { generation = 3, ...status }: { generation?: number; [field: string]: unknown } = {},
) =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', generation },
    spec: { clusters: ['a'], remediationStrategy: { maxConcurrency: 1 } },
    status: { ...status, conditions },
  });
type Options = Partial<Parameters<typeof withReading>[2]>;
/** Reads the upgrade as it is stored. */
const read = (upgrade: ClusterGroupUpgrade, options: Options = {}) => ({
  ...upgrade,
  status: withReading(upgrade, upgrade.status ?? { status: {} }, { talmStrict: false, now, ...options }),
});
const own = ({ status }: ClusterGroupUpgrade, count: number) =>
  (status?.conditions ?? [])
    .slice(0, (status?.conditions?.length ?? 0) - count)
    .map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);

describe('what tools read', () => {
  test.each<{ name: string; given: Condition[]; stall?: typeof over; want: string[]; tools: ReturnType<typeof kstatus> }>([
    {
      name: 'one that waits is not ready',
      given: [...valid, condition('Progressing', 'False', 'WaitingForWindow')],
      want: ['Ready False WaitingForWindow'],
      tools: 'InProgress',
    },
    {
      name: 'one that waits for somebody is stalled',
      given: [...valid, condition('Progressing', 'False', 'WaitingForWindow')],
      stall: over,
      want: ['Ready False WaitingForWindow', 'Stalled True WaitingForWindow'],
      tools: 'Failed',
    },
    {
      name: 'one that runs and waits for somebody is stalled',
      given: [...valid, condition('Progressing', 'True', 'WaitingForWindow')],
      stall: over,
      want: ['Ready False WaitingForWindow', 'Stalled True WaitingForWindow'],
      tools: 'Failed',
    },
    {
      name: 'one that runs is not ready',
      given: [...valid, condition('Progressing', 'True', 'InProgress')],
      want: ['Ready False InProgress'],
      tools: 'InProgress',
    },
    {
      name: 'one that is paused is not ready, and needs no correction',
      given: [...valid, condition('Progressing', 'True', 'InProgress'), condition('Paused', 'True', 'Paused')],
      want: ['Ready False Paused'],
      tools: 'InProgress',
    },
    {
      name: 'one that is refused is stalled',
      given: [condition('ClustersSelected', 'False', 'ClusterNotFound')],
      want: ['Ready False ClusterNotFound', 'Stalled True ClusterNotFound'],
      tools: 'Failed',
    },
    {
      name: 'one that failed is stalled',
      given: [...valid, condition('Progressing', 'False', 'Completed'), condition('Succeeded', 'False', 'TimedOut')],
      want: ['Ready False TimedOut', 'Stalled True TimedOut'],
      tools: 'Failed',
    },
    {
      name: 'one that is done is ready, whatever was refused after its start',
      given: [condition('Validated', 'False', 'InvalidWindow'), condition('Succeeded', 'True', 'Completed')],
      want: ['Ready True Completed'],
      tools: 'Current',
    },
  ])('$name', ({ given, stall, want, tools }) => {
    const result = read(upgradeOf(given), { stall });
    expect(own(result, given.length)).toEqual(want);
    expect(result.status?.observedGeneration).toBe(3);
    expect(result.status?.conditions?.slice(0, want.length).every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
    expect(kstatus(result)).toBe(tools);
  });

  test('a new upgrade has no conditions, and is in progress', () => {
    const created = upgradeOf([], { observedGeneration: -1, generation: 1 });
    expect(kstatus(created)).toBe('InProgress');
    expect(read(upgradeOf([])).status?.conditions).toEqual([]);
  });
});

test('another reading changes nothing, and a changed one only the time of what has changed', () => {
  const first = read(upgradeOf([condition('ClustersSelected', 'False', 'ClusterNotFound')], { generation: 1 }), { now: new Date(before) });
  expect(read(first)).toEqual(first);
  const conditions = [...(first.status?.conditions ?? []).slice(0, 2), ...valid];
  const status = { ...first.status, status: {}, conditions };
  const mended = withReading({ ...first, metadata: { ...first.metadata, generation: 2 } }, status, { talmStrict: false, now });
  expect(mended.conditions).toMatchObject([{ type: 'Ready', status: 'False', lastTransitionTime: before, observedGeneration: 2 }, {}, {}]);
});

describe('an upgrade that ended under another version, or in another mode', () => {
  const done = [...valid, condition('Progressing', 'False', 'Completed'), condition('Succeeded', 'True', 'Completed')];
  const failed = [...valid, condition('Progressing', 'False', 'Completed'), condition('Succeeded', 'False', 'TimedOut')];
  const READY = condition('Ready', 'False', 'InProgress');

  test.each([
    { name: 'a failure without Ready', given: failed, tools: 'Failed' },
    { name: 'a success without Ready', given: done, tools: 'Current' },
    { name: 'a success whose Ready is from its rollout', given: [READY, ...done], tools: 'Current' },
    {
      name: 'a success with Stalled from before its start',
      given: [READY, { ...READY, type: 'Stalled', status: 'True' as const }, ...done],
      tools: 'Current',
    },
  ])('$name reads as its verdict says', ({ given, tools }) => {
    const result = read(upgradeOf(given, { observedGeneration: undefined }));
    expect(kstatus(result)).toBe(tools);
    expect(result.status?.conditions?.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
    expect(read(result)).toEqual(result);
  });

  test('strictly has the conditions of the reference alone', () => {
    const ours = read(upgradeOf(done));
    const result = read(ours, { talmStrict: true });
    expect(result.status?.conditions).toEqual(done);
    expect(result.status?.observedGeneration).toBeUndefined();
  });
});

test('after an edit that does not count no success is claimed for it, and each condition is about it', () => {
  const ended = read(upgradeOf([...valid, condition('Succeeded', 'True', 'Completed')], { generation: 1 }));
  const edited = {
    ...ended,
    metadata: { ...ended.metadata, generation: 2 },
    spec: { ...ended.spec, clusters: ['a', 'b'] },
  } as ClusterGroupUpgrade;
  const result = read(edited);
  expect(own(result, 3)).toEqual(['Ready False EditsIgnored', 'Stalled True EditsIgnored', 'EditsIgnored True EditsIgnored']);
  expect(result.status?.conditions?.[2]?.message).toMatch(/^Edited too late to count: spec\.clusters; put them back/);
  expect(result.status?.conditions?.every(({ observedGeneration }) => observedGeneration === 2)).toBe(true);
  expect(kstatus(result)).toBe('Failed');
  const back = { ...result, metadata: { ...ended.metadata, generation: 3 }, spec: ended.spec } as ClusterGroupUpgrade;
  expect([kstatus(read(back)), own(read(back), 3)]).toEqual(['Current', ['Ready True Completed']]);
});

test('an edit that came too late is known after a turn through the mode of the reference', () => {
  const ended = read(upgradeOf([...valid, condition('Succeeded', 'True', 'Completed')], { generation: 1 }));
  const edited = { ...ended, metadata: { ...ended.metadata, generation: 2 }, spec: { ...ended.spec, clusters: ['a', 'b'] } };
  const stored = (upgrade: ClusterGroupUpgrade) => ClusterGroupUpgrade.schema.parse(JSON.parse(JSON.stringify(upgrade)));
  const turned = [false, true, false].reduce((upgrade, talmStrict) => stored(read(upgrade, { talmStrict })), stored(edited as never));
  expect(own(turned, 3)).toEqual(['Ready False EditsIgnored', 'Stalled True EditsIgnored', 'EditsIgnored True EditsIgnored']);
});

test('an edit that does not count stands beside the state of a rollout that runs', () => {
  const running = read(upgradeOf([...valid, condition('Progressing', 'True', 'InProgress')], { generation: 1 }));
  const edited = {
    ...running,
    metadata: { ...running.metadata, generation: 2 },
    spec: { ...running.spec, enable: false },
  } as ClusterGroupUpgrade;
  expect(own(read(edited), 3)).toEqual(['Ready False InProgress', 'EditsIgnored True EditsIgnored']);
});

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString().replace('.000', '');
const endedBy = (status: string) => ({ type: 'Succeeded', status, reason: 'Any', message: '', lastTransitionTime: at(0) });
const plan = { remediationPlan: [['a'], ['b'], ['c']] };
const second = { status: { startedAt: at(0), currentBatch: 2, currentBatchStartedAt: at(10) } };

test.each([
  { name: 'has no plan', status: {}, want: undefined },
  { name: 'waits', status: plan, want: { batch: '0/3', failed: 0 } },
  {
    name: 'pre-caches',
    status: { ...plan, precaching: { status: { a: 'Succeeded', b: 'Active', c: 'UnrecoverableError' } } },
    want: { cached: '1/3', batch: '0/3', failed: 0 },
  },
  {
    name: 'is in its second batch',
    status: { ...plan, ...second, clusters: [{ name: 'a', state: 'complete' }] },
    want: { batch: '2/3', failed: 0, eta: at(30) },
  },
  {
    name: 'has clusters that failed and timed out',
    status: {
      ...plan,
      ...second,
      clusters: [
        { name: 'a', state: 'timedout' },
        { name: 'b', state: 'failed' },
      ],
    },
    want: { batch: '2/3', failed: 2, eta: at(30) },
  },
  { name: 'has its verdict', status: { ...plan, ...second, conditions: [endedBy('True')] }, want: { batch: '2/3', failed: 0 } },
  {
    name: 'is cleaned, which keeps the last batch',
    status: { ...plan, status: { completedAt: at(40) }, conditions: [endedBy('True')], summary: { batch: '3/3', eta: at(30) } },
    want: { batch: '3/3', failed: 0 },
  },
])('the summary of an upgrade that $name', ({ status, want }) => {
  const { summary } = withSummary(buildClusterGroupUpgrade('u'), ClusterGroupUpgradeStatus.parse(status));
  expect(summary && JSON.parse(JSON.stringify(summary))).toEqual(want);
});
