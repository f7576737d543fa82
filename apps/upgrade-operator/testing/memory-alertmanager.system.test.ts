import { type AlertmanagerServer, startAlertmanager } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { systemClock } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Alertmanager, createAlertmanager, type NewSilence } from '../src/clients/alertmanager.ts';
import { MemoryAlertmanager } from './memory-alertmanager.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let server: AlertmanagerServer;
beforeAll(async () => {
  server = await startAlertmanager();
});
afterAll(async () => {
  await server?.stop();
});

const kinds: { who: string; open: () => Alertmanager }[] = [
  {
    who: 'a real Alertmanager',
    open: () =>
      createAlertmanager({
        clock: systemClock,
        retry: { attempts: 1, baseMs: 1, maxMs: 1 },
        url: async () => new URL(server.url),
      }),
  },
  { who: 'the one in memory', open: () => new MemoryAlertmanager(systemClock) },
];

/** A silence from so long ago or ahead until then. */
const silence = (comment: string, from: number, until: number, more: Partial<NewSilence> = {}): NewSilence => ({
  comment,
  createdBy: 'me',
  matchers: [{ name: 'a', value: 'b', isRegex: false }],
  startsAt: new Date(Date.now() + from).toISOString(),
  endsAt: new Date(Date.now() + until).toISOString(),
  ...more,
});

// Both have to behave as the operator relies on: a fake that is kinder makes tests lie.
describe.each(kinds)('$who', ({ open }) => {
  const find = async (alertmanager: Alertmanager, id: string) => {
    const found = (await alertmanager.silences()).find((each) => each.id === id);
    if (!found) throw new RangeError(`no silence ${id}`);
    return found;
  };
  const stateOf = async (alertmanager: Alertmanager, id: string) => (await find(alertmanager, id)).status.state;

  test('has a silence in force from its own now on, whatever past it is told to begin in', async () => {
    await using alertmanager = open();
    const before = Date.now();
    const id = await alertmanager.put(silence('past', -HOUR, HOUR));
    const { status, startsAt } = await find(alertmanager, id);
    expect(status.state).toBe('active');
    expect(Date.parse(startsAt)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(startsAt)).toBeLessThanOrEqual(Date.now());
  });

  test('has one that begins later pending, and in force when it begins', async () => {
    await using alertmanager = open();
    const id = await alertmanager.put(silence('later', 2 * SECOND, HOUR));
    expect(await stateOf(alertmanager, id)).toBe('pending');
    await eventually(async () => (await stateOf(alertmanager, id)) === 'active', 'its beginning');
  });

  test('has one run out by itself, and remembers it', async () => {
    await using alertmanager = open();
    const id = await alertmanager.put(silence('short', 0, 2 * SECOND));
    const { endsAt } = await find(alertmanager, id);
    await eventually(async () => (await stateOf(alertmanager, id)) === 'expired', 'its end');
    expect((await find(alertmanager, id)).endsAt).toBe(endsAt);
  });

  test('ends one in force and a pending one, and nothing twice', async () => {
    await using alertmanager = open();
    for (const from of [0, HOUR]) {
      const id = await alertmanager.put(silence('ended', from, 2 * HOUR));
      await alertmanager.expire(id);
      const { status, endsAt, startsAt } = await find(alertmanager, id);
      expect(status.state).toBe('expired');
      expect(Date.parse(endsAt)).toBeLessThanOrEqual(Date.now());
      expect(Date.parse(startsAt)).toBeLessThanOrEqual(Date.parse(endsAt));
      await alertmanager.expire(id);
      expect((await find(alertmanager, id)).endsAt).toBe(endsAt);
    }
    await alertmanager.expire('00000000-0000-4000-8000-000000000000');
  });

  test('changes the end and the words of one in force, and of a pending one, in place', async () => {
    await using alertmanager = open();
    for (const from of [0, HOUR]) {
      const id = await alertmanager.put(silence('before', from, 2 * HOUR));
      const { startsAt } = await find(alertmanager, id);
      const next = silence('after', 0, 3 * HOUR, { id, startsAt });
      expect(await alertmanager.put(next)).toBe(id);
      const changed = await find(alertmanager, id);
      expect([changed.comment, Date.parse(changed.endsAt), Date.parse(changed.startsAt)]).toEqual([
        'after',
        Date.parse(next.endsAt),
        Date.parse(startsAt),
      ]);
    }
  });

  test('puts another one in place of one whose matchers or beginning change, and of one that is over', async () => {
    await using alertmanager = open();
    const replaced = async (change: (startsAt: string) => Partial<NewSilence>) => {
      const id = await alertmanager.put(silence('old', 0, HOUR));
      const { startsAt } = await find(alertmanager, id);
      const next = await alertmanager.put(silence('new', 0, HOUR, { id, startsAt, ...change(startsAt) }));
      expect(next).not.toBe(id);
      expect([await stateOf(alertmanager, id), await stateOf(alertmanager, next)]).toEqual(['expired', 'active']);
    };
    await replaced(() => ({ matchers: [{ name: 'a', value: 'other', isRegex: false }] }));
    await replaced((startsAt) => ({ startsAt: new Date(Date.parse(startsAt) - 10 * SECOND).toISOString() }));
    const over = await alertmanager.put(silence('over', 0, HOUR));
    await alertmanager.expire(over);
    expect(await alertmanager.put(silence('again', 0, HOUR, { id: over }))).not.toBe(over);
    expect(await stateOf(alertmanager, over)).toBe('expired');
  });

  test('refuses what never is, and to change what it does not know, in the same words', async () => {
    await using alertmanager = open();
    const why = async (wanted: NewSilence) => {
      const error: unknown = await alertmanager.put(wanted).catch((thrown: unknown) => thrown);
      return error instanceof Error ? error.message.trim() : 'nothing';
    };
    expect(await why(silence('past', -2 * HOUR, -HOUR))).toBe(
      "[POST /silences][400] postSilencesBadRequest  Failed to create silence: end time can't be in the past",
    );
    expect(await why(silence('turned', HOUR, -HOUR))).toBe(
      '[POST /silences][400] postSilencesBadRequest  Failed to create silence: start time must be before end time',
    );
    expect(await why(silence('unknown', 0, HOUR, { id: '00000000-0000-4000-8000-000000000000' }))).toBe(
      '[POST /silences][404] postSilencesNotFound  silence not found',
    );
  });
});
