import { expect, test } from 'vitest';
import { progressPace } from './job.ts';

test.each([
  { clusters: 1, want: 5 },
  { clusters: 250, want: 5 },
  { clusters: 251, want: 10 },
  { clusters: 500, want: 10 },
  { clusters: 2000, want: 40 },
  { clusters: 1990, want: 40 },
  { clusters: 5000, want: 160 },
])('a spoke of $clusters reports every $want s: fifty a second at most', ({ clusters, want }) => {
  expect(progressPace(5, clusters)).toBe(want);
  expect(clusters / progressPace(5, clusters)).toBeLessThanOrEqual(50);
});
