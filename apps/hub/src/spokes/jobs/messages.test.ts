import { expect, test } from 'vitest';
import { troubleOf } from './messages.ts';

test('a long refusal of a write loses its path and its middle, and keeps its end', () => {
  const end = 'exceeded quota: raise the limit of actions in namespace spoke';
  const told = troubleOf(`POST /apis/action/v1/actions: 403: forbidden ${'because of the rule before '.repeat(200)}${end}`);
  expect(told).toMatch(/: forbidden because of .*… .*exceeded quota: raise the limit of actions in namespace spoke$/);
  expect([told.includes('/apis/'), told.length < 1_100]).toEqual([false, true]);
});
