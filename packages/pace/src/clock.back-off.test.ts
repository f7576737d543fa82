import { expect, test } from 'vitest';
import { type BackOff, backOffMs } from './clock.ts';

const HALF: BackOff = { baseMs: 500, maxMs: 60_000 };

test.each<{ name: string; backOff?: BackOff; failures: number; random: number; want: number }>([
  { name: 'half of it at least', failures: 1, random: 0, want: 250 },
  { name: 'all of it at most', failures: 1, random: 1, want: 500 },
  { name: 'doubled with each failure', failures: 4, random: 1, want: 4_000 },
  { name: 'never more than the longest', failures: 20, random: 1, want: 60_000 },
  { name: 'however many failures', failures: 5_000, random: 0, want: 30_000 },
  { name: 'like the first one when there was none', failures: 0, random: 1, want: 500 },
  { name: 'all left to chance', backOff: { ...HALF, floor: 0 }, failures: 2, random: 0.25, want: 250 },
  { name: 'nothing left to chance', backOff: { ...HALF, floor: 1 }, failures: 2, random: 0.25, want: 1_000 },
])('$name', ({ backOff = HALF, failures, random, want }) => expect(backOffMs(backOff, failures, () => random)).toBe(want));
