import { expect, test } from 'vitest';
import { progressPace } from './job.ts';

test.each([
  { clusters: 1, want: 5 },
  { clusters: 125, want: 5 },
  { clusters: 126, want: 10 },
  { clusters: 500, want: 20 },
  { clusters: 2000, want: 80 },
  { clusters: 1990, want: 80 },
  { clusters: 5000, want: 320 },
])('a spoke of $clusters reports every $want s: twenty-five a second at most', ({ clusters, want }) => {
  expect(progressPace(5, clusters)).toBe(want);
  expect(clusters / progressPace(5, clusters)).toBeLessThanOrEqual(25);
});
