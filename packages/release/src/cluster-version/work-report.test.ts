import { describe, expect, test } from 'vitest';
import { failure, report } from '../../testing/cluster-version-builders.ts';
import { isEdge, nextReport, type WorkReport } from './work-report.ts';

const error = failure();
const failed = report({ done: 300, failure: error, failingSinceMs: 7 });

describe('nextReport', () => {
  test.each<{ name: string; previous: WorkReport | undefined; next: WorkReport; stays: boolean }>([
    { name: 'stays while the next try has not come as far', previous: failed, next: report({ done: 299 }), stays: true },
    { name: 'goes when the next try has come as far', previous: failed, next: report({ done: 300 }), stays: false },
    {
      name: 'goes with another release',
      previous: failed,
      next: report({ done: 1, release: { version: '1', image: 'other' } }),
      stays: false,
    },
    { name: 'goes when all is done', previous: failed, next: report({ done: 0, completed: true }), stays: false },
    { name: 'is not there where there was none', previous: report({ done: 300 }), next: report({ done: 1 }), stays: false },
    { name: 'is not there before the first report', previous: undefined, next: report(), stays: false },
  ])('a failure $name', ({ previous, next, stays }) => {
    const counts = nextReport(previous, next);
    expect(counts.failure).toBe(stays ? error : undefined);
    expect(counts).toMatchObject(stays ? { done: 300, failingSinceMs: 7 } : { done: next.done });
  });

  test('a newer failure takes the place of an older one', () => {
    const newer = failure({ reason: 'Other' });
    expect(nextReport(failed, report({ done: 1, failure: newer })).failure).toBe(newer);
  });
});

test.each<{ name: string; next: WorkReport; want: boolean }>([
  { name: 'more that is done', next: report({ done: 5 }), want: false },
  { name: 'another generation', next: report({ generation: 4 }), want: true },
  { name: 'another release', next: report({ release: { version: '1', image: 'other' } }), want: true },
  { name: 'the end of an update', next: report({ reconciling: true }), want: true },
  { name: 'a failure', next: report({ failure: error }), want: true },
])('$name is told at once: $want', ({ next, want }) => expect(isEdge(report(), next)).toBe(want));
