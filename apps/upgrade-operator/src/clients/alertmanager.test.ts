import { answer, say, startHostileService } from '@flotilla/http/testing';
import { systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createAlertmanager } from './alertmanager.ts';

const open = (url: URL) =>
  createAlertmanager({
    clock: systemClock,
    url: async () => url,
    authorize: async () => 'Bearer t',
    retry: { attempts: 1, baseMs: 1, maxMs: 1 },
  });
const NEW = { matchers: [], startsAt: 'a', endsAt: 'b', createdBy: 'me', comment: 'why' };

test.each([
  { status: 400, body: '"bad"', want: '[POST /silences][400] postSilencesBadRequest  bad' },
  { status: 404, body: '"no silence"', want: '[POST /silences][404] postSilencesNotFound  no silence' },
  { status: 418, body: 'tea', want: '[POST /silences] unknown error (status 418): tea' },
])('words a $status as its clients do', async ({ status, body, want }) => {
  await using service = await startHostileService(say(body, status));
  await using alertmanager = open(service.url);
  await expect(alertmanager.put(NEW)).rejects.toThrow(want);
});

test.each([
  { name: 'unknown', status: 404, body: '' },
  { name: 'unknown, as 0.25 says it', status: 500, body: '"silence not found"' },
  { name: 'over', status: 500, body: '"silence 1 already expired"' },
])('a silence that is $name needs no end', async ({ status, body }) => {
  await using service = await startHostileService(say(body, status));
  await using alertmanager = open(service.url);
  await expect(alertmanager.expire('a/b')).resolves.toBeUndefined();
  expect(service.requests[0]).toMatchObject({ line: 'DELETE /api/v2/silence/a%2Fb', authorization: 'Bearer t' });
});

test('a silence of an unknown state is no silence', async () => {
  await using service = await startHostileService(
    answer([{ id: '1', startsAt: '', endsAt: '', status: { state: 'sleeping' }, matchers: [] }]),
  );
  await using alertmanager = open(service.url);
  await expect(alertmanager.silences()).rejects.toMatchObject({
    code: 'FLOTILLA_SERVICE_BAD_ANSWER',
    message: expect.stringContaining('0.status.state'),
  });
});
