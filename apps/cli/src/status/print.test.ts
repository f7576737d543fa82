import type { StatusAnswer } from '@flotilla/api/answers';
import { expect, test } from 'vitest';
import { statusLine, statusPage, statusTable } from './print.ts';

const now = Date.parse('2026-11-25T12:00:00Z');
const ANSWER: StatusAnswer = {
  upgrade: 'ns/u',
  stage: 'rolling-out',
  says: 'Batch 2.',
  hub: { state: 'leads', holder: 'hub-0', renewedAt: '2026-11-25T11:59:59Z' },
  batch: { current: 2, of: 3 },
  window: { state: 'none' },
  clusters: { total: 3, done: 1, failed: 0, inBatch: 1, left: 1 },
  waits: [],
  failures: [],
  current: [],
  notes: [],
};

test.each<{ name: string; ends: StatusAnswer['ends']; want: string }>([
  {
    name: 'a bound stands beside a forecast that lies before it',
    ends: { seconds: { certainty: 'forecast', value: 1_440, why: 'its pace' }, latestAt: '2026-11-25T15:00:00Z', fitsWindow: true },
    want: 'ends in ~ 24 min, at the latest in 3 h, fits the window',
  },
  {
    name: 'where the bound is the estimate, its cause stands instead',
    ends: { seconds: { certainty: 'at-most', value: 2_400, why: 'it times out then' }, latestAt: '2026-11-25T12:40:00Z' },
    want: 'ends in ≤ 40 min (it times out then)',
  },
  {
    name: 'a time that is over is not so long from now',
    ends: { seconds: { certainty: 'at-most', value: 0, why: 'its time was over 2 h ago' }, latestAt: '2026-11-25T10:00:00Z' },
    want: 'overdue (its time was over 2 h ago)',
  },
])('$name', ({ ends, want }) => {
  const [head = ''] = statusPage({ ...ANSWER, ends }, { width: undefined, hasColor: false }, now).split('\n');
  expect(head.split('   ').at(-1)).toBe(want);
});

test('edits that the rest is not about stand in each form of the answer', () => {
  const answer: StatusAnswer = { ...ANSWER, stage: 'done', edits: { state: 'ignored', says: 'Edited too late to count: spec.x' } };
  const look = { hasColor: false, width: undefined };
  expect(statusPage(answer, look, now)).toContain('\nBatch 2.\nedits ignored: Edited too late to count: spec.x\n');
  expect(statusLine(answer)).toBe('ns/u stage=done batch=2/3 done=1/3 failed=0 edits=ignored');
  expect(statusTable([answer], look)).toMatch(/ns\/u +done, edits ignored +2\/3/);
});

test.each([
  ['a pipe and -o wide', undefined, true],
  ['a terminal', 120, false],
])('of every cause the sentence is whole in %s: %s columns', (_, width, isWhole) => {
  const says = 'policy ran/site-config to be compliant on a cluster whose operators wait for one another today';
  const waits = [{ cause: 'policy' as const, says, clusters: 1, example: 'a' }];
  expect(statusPage({ ...ANSWER, waits }, { width, hasColor: false }, now).includes(says)).toBe(isWhole);
});
