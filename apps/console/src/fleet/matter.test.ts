import type { UpgradeRow } from '@flotilla/api/answers';
import { expect, test } from 'vitest';
import { firstCauses, groupOf, rankOfUpgrade, spansOf } from './matter.ts';

const NOW = Date.parse('2026-12-05T22:00:00Z');
const clusters = { total: 9, done: 0, failed: 0, inBatch: 0, left: 9 };
const upgrade = (key: string, stage: UpgradeRow['stage'], more: Partial<UpgradeRow> = {}): UpgradeRow => ({
  key,
  stage,
  says: '',
  batch: { current: 0, of: 1 },
  window: { state: 'none' },
  clusters,
  waits: [],
  failures: [],
  cached: null,
  ends: null,
  batches: [9],
  edits: null,
  paused: null,
  writtenAt: null,
  ...more,
});

test.each([
  { is: 'failed', row: upgrade('a', 'partial') },
  { is: 'failed', row: upgrade('a', 'refused') },
  { is: 'failed', row: upgrade('a', 'rolling-out', { clusters: { ...clusters, failed: 1 } }) },
  { is: 'waiting', row: upgrade('a', 'waiting') },
  { is: 'waiting', row: upgrade('a', 'rolling-out', { paused: 'ticket' }) },
  { is: 'running', row: upgrade('a', 'pre-caching') },
  { is: 'ended', row: upgrade('a', 'done', { paused: 'ticket' }) },
  { is: 'failed', row: upgrade('a', 'done', { edits: { state: 'ignored', says: 'too late' } }) },
  { is: 'ended', row: upgrade('a', 'done', { edits: { state: 'unprocessed', says: 'not yet' } }) },
  { is: 'running', row: upgrade('a', 'rolling-out', { edits: { state: 'ignored', says: 'too late' } }) },
])('an upgrade that is $row.stage with $row.clusters.failed failed counts as $is', ({ is, row }) => {
  expect(groupOf(row)).toBe(is);
});

test('upgrades with failures stand first, those that have ended well last', () => {
  const rows = [upgrade('done', 'done'), upgrade('on', 'rolling-out'), upgrade('waits', 'waiting'), upgrade('lost', 'timed-out')];
  expect(rows.toSorted((a, b) => rankOfUpgrade(a) - rankOfUpgrade(b)).map(({ key }) => key)).toEqual(['lost', 'waits', 'on', 'done']);
});

test('causes of all upgrades are counted together, whatever their numbers, and the largest three stand first', () => {
  const failures = (...causes: [says: string, clusters: number][]) =>
    causes.map(([says, clusters]) => ({ says, clusters, example: `first with ${says}` }));
  const rows = [
    upgrade('a', 'partial', { failures: failures(['31 GB are free', 2], ['no pins', 1]) }),
    upgrade('b', 'partial', { failures: failures(['29 GB are free', 3], ['timed out', 4], ['refused', 2]) }),
  ];
  expect(firstCauses(rows, 'failures')).toEqual([
    { says: '31 GB are free', clusters: 5, upgrade: 'a', example: 'first with 31 GB are free' },
    { says: 'timed out', clusters: 4, upgrade: 'b', example: 'first with timed out' },
    { says: 'refused', clusters: 2, upgrade: 'b', example: 'first with refused' },
  ]);
  expect(firstCauses(rows, 'waits')).toEqual([]);
});

test('windows that are too short come first, then those with failures, then the next to open; others are not on the line', () => {
  const opens = (hour: string) => ({ state: 'closed' as const, opensAt: `2026-12-06T${hour}:00:00Z` });
  const late = { seconds: { certainty: 'forecast' as const, value: 60 }, fitsWindow: false };
  const rows = [
    upgrade('any-time', 'rolling-out'),
    upgrade('second', 'waiting', { window: opens('02') }),
    upgrade('first', 'waiting', { window: opens('01') }),
    upgrade('lost', 'waiting', { window: opens('03'), clusters: { ...clusters, failed: 1 } }),
    upgrade('short', 'waiting', { window: opens('04'), ends: late }),
    upgrade('over', 'done', { window: opens('01') }),
  ];
  expect(spansOf(rows, NOW).map(({ row }) => row.key)).toEqual(['short', 'lost', 'first', 'second']);
});
