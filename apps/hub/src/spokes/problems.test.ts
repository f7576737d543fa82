import { WaitingError } from '@flotilla/api';
import { ApiError } from '@flotilla/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { Problems } from './problems.ts';

const KEY = { upgrade: 'uid', cluster: 'a' };
const errorOf = (status: number, serverMessage: string) =>
  new ApiError('FLOTILLA_API', 'PATCH managedclusters a', { status, reason: '', serverMessage });
const AWAY = errorOf(503, 'away');
const DENIED = errorOf(403, 'denied');

let now: number;
/** Uids of which something has changed. */
let told: string[];
let problems: Problems;
beforeEach(() => {
  now = 1_000_000;
  told = [];
  problems = new Problems({ onChange: (uid) => void told.push(uid), now: () => now });
});

/** Notes an error each second, the first one now. */
function fail(seconds: number, error: unknown, key = KEY): void {
  for (let second = 0; second <= seconds; second += 1) {
    if (second > 0) now += 1000;
    problems.note('rollout', key, error);
  }
}
const problem = () => problems.of('rollout', 'uid').get('a');

describe('an error', () => {
  test('is a problem once it has lasted for five seconds, told once, and gone with the first success', () => {
    fail(4, AWAY);
    expect([problem(), told]).toEqual([undefined, []]);
    fail(20, AWAY);
    expect([problem()?.message, problem()?.isRefused]).toEqual(['PATCH managedclusters a: 503: away; it is tried again', false]);
    expect(told).toEqual(['uid']);
    problems.note('rollout', KEY, undefined);
    expect([problem(), told]).toEqual([undefined, ['uid', 'uid']]);
    fail(4, AWAY);
    expect(problem()).toBeUndefined();
  });

  test('that passed before anybody read it is no news', () => {
    fail(4, AWAY);
    problems.note('rollout', KEY, undefined);
    expect(told).toEqual([]);
  });

  test('that ends with another one is the same trouble, in new words', () => {
    fail(5, AWAY);
    fail(0, errorOf(500, 'broken'));
    expect([problem()?.message, told]).toEqual(['PATCH managedclusters a: 500: broken; it is tried again', ['uid', 'uid']]);
  });

  test('that only waits says so in its own words', () => {
    fail(5, new WaitingError('FLOTILLA_NAME_TAKEN', 'belongs to another; delete it', 1000));
    expect(problem()?.message).toBe('belongs to another; delete it');
  });

  test.each([
    {
      name: 'a conflict',
      error: new ApiError('FLOTILLA_API_CONFLICT', 'PATCH', { status: 409, reason: 'Conflict', serverMessage: 'modified' }),
    },
    { name: 'caches that are behind', error: new WaitingError('FLOTILLA_CACHE_BEHIND', 'behind', 150) },
    { name: 'a pause before the next try', error: new WaitingError('FLOTILLA_WAITING_FOR_RETRY', 'refused', 150) },
  ])('is none for as long as it is $name', ({ error }) => {
    fail(60, error);
    expect([problem(), told]).toEqual([undefined, []]);
  });

  test('began when the clock steps back at the latest', () => {
    fail(0, AWAY);
    now -= 3_600_000;
    fail(4, AWAY);
    expect(problem()).toBeUndefined();
    fail(1, AWAY);
    expect(problem()?.message).toContain('away');
  });
});

describe('a refusal', () => {
  test('counts once it has lasted for fifteen seconds, and says what to do about it', () => {
    fail(14, DENIED);
    expect(problem()?.isRefused).toBe(false);
    fail(1, DENIED);
    expect(problem()?.isRefused).toBe(true);
    expect(problem()?.message).toMatch(
      /managedclusters a.*denied; give the hub's account the right to it, or correct the policy that denies it/,
    );
    expect(told).toEqual(['uid', 'uid']);
  });

  test.each([400, 413, 422])('by status %j asks for a correction', (status) => {
    fail(15, errorOf(status, 'no'));
    expect(problem()).toMatchObject({ isRefused: true, message: `PATCH managedclusters a: ${status}: no; correct what it names` });
  });

  test('begins anew after an error that is none', () => {
    fail(14, DENIED);
    fail(0, AWAY);
    fail(14, DENIED);
    expect(problem()?.isRefused).toBe(false);
    fail(1, DENIED);
    expect(problem()?.isRefused).toBe(true);
  });
});

test('problems are of one part, one upgrade and one cluster, the empty one included', () => {
  fail(5, AWAY);
  fail(5, DENIED, { upgrade: 'uid', cluster: '' });
  fail(5, AWAY, { upgrade: 'other', cluster: 'a' });
  expect([...problems.of('rollout', 'uid').keys()]).toEqual(['a', '']);
  expect([problems.of('backup', 'uid').size, problems.of('rollout', 'none').size]).toEqual([0, 0]);
  problems.forget('uid');
  expect([problems.of('rollout', 'uid').size, problems.of('rollout', 'other').size]).toEqual([0, 1]);
});
