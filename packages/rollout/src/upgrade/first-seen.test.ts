import { expect, test } from 'vitest';
import { FirstSeen } from './first-seen.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

test('counts from the first of the passes that all saw it', () => {
  const seen = new FirstSeen();
  expect(seen.pass('u', NOW).since('a')).toBe(NOW);
  expect(seen.pass('u', NOW + 1_000).since('a')).toBe(NOW);
  seen.pass('u', NOW + 2_000);
  expect(seen.pass('u', NOW + 3_000).since('a')).toBe(NOW + 3_000);
});

test('what was not noted is not known, and asking for it notes nothing', () => {
  const seen = new FirstSeen();
  const first = seen.pass('u', NOW);
  expect([first.known('a'), first.since('a'), first.known('a')]).toEqual([undefined, NOW, NOW]);
  expect(seen.pass('u', NOW + 1_000).known('a')).toBe(NOW);
  expect(seen.pass('u', NOW + 2_000).known('a')).toBe(NOW);
  expect(seen.pass('u', NOW + 3_000).known('b')).toBeUndefined();
});

test('keeps upgrades apart, forgets one, and follows a clock that stepped back', () => {
  const seen = new FirstSeen();
  seen.pass('u', NOW).since('a');
  expect(seen.pass('other', NOW + 1_000).since('a')).toBe(NOW + 1_000);
  expect(seen.pass('u', NOW - 60_000).since('a')).toBe(NOW - 60_000);
  seen.forget('u');
  expect(seen.pass('u', NOW).since('a')).toBe(NOW);
});
