import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { act } from './actions.ts';

/** A client that nothing may be asked of. */
const untouched = new Proxy({} as Client, {
  get: (_, name) => {
    throw new Error(`the server was asked: ${String(name)}`);
  },
});

test.each([
  { window: { end: 'yesterday' }, says: '"Not after" is "yesterday", not an RFC 3339 time with zone; ' },
  {
    window: { start: '2026-02-01T00:00:00Z', end: '2026-01-01T00:00:00Z' },
    says: '"Not after" is "2026-01-01T00:00:00Z", not after "Not before" "2026-02-01T00:00:00Z"; ',
  },
  { window: { schedule: 'often', duration: '4h' }, says: '"Openings" is "often", ' },
  { window: { schedule: '0 22 * * 6' }, says: '"Openings" stands without "Open for"; ' },
  { window: { schedule: '0 22 * * 6', duration: '4 hours' }, says: '"Open for" is "4 hours", ' },
  { window: { schedule: '0 22 * * 6', duration: '4h', timezone: 'Mars' }, says: '"Time zone" is "Mars", ' },
  { window: {}, says: 'give "Not before", "Not after", or "Openings" with "Open for"' },
])('a window by $window is refused by the names of the fields of its form', async ({ window, says }) => {
  const request = { action: 'window-set', of: 'ran/site', window, dryRun: true } as const;
  const error = await act({ client: untouched, hubNamespace: 'flotilla' }, request).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'FLOTILLA_CONFIG', message: expect.stringContaining(says) });
  expect(String(error)).not.toMatch(/flotilla\.io\/|--/);
});
