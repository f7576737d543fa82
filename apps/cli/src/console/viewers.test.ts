import { ManualClock } from '@flotilla/pace/testing';
import { ApiError, createClient, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { sharedDoor } from './door.ts';
import { Feed } from './rows/feed.ts';
import { Fleet } from './rows/fleet.ts';
import { Sources } from './rows/sources.ts';
import type { Viewer } from './viewer.ts';
import { Viewers } from './viewers.ts';

const unknownToken = new ApiError(RuntimeErrorCode.unauthorized, 'POST', { status: 401, reason: 'Unauthorized', serverMessage: '' });
const kubeconfig = JSON.stringify({
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  users: [{ name: 'u', user: {} }],
  'current-context': 'x',
});

/** Looks of people whose tokens an API server knows. */
function lookedAt({ most = 50 } = {}) {
  const clock = new ManualClock();
  const known = new Set(['token-of-alice', 'token-of-bob', 'token-of-carol']);
  const changed = new Set<string>();
  const opened: { token: string; viewer: Viewer }[] = [];
  const said: string[] = [];
  const open = (token: string, ended: AbortSignal): Promise<Viewer> => {
    if (!known.has(token)) return Promise.reject(unknownToken);
    const client = createClient({ kubeconfig, userAgent: 'test' });
    const rights = { upgrades: null, spokes: null, lease: null, steerUpgrades: null, steerSpokes: null };
    const sources = new Sources({ client, rights, hubNamespace: 'flotilla' });
    const fleet = new Fleet(sources);
    const viewer: Viewer = {
      feed: new Feed(fleet),
      deps: { client, hubNamespace: 'flotilla', fleet, sources },
      greeting: { viewer: token.replace('token-of-', '') },
      ended,
      isStillSo: () => (known.has(token) ? Promise.resolve(!changed.has(token)) : Promise.reject(unknownToken)),
    };
    opened.push({ token, viewer });
    return Promise.resolve(viewer);
  };
  const viewers = new Viewers({ open, most, clock, say: (line) => void said.push(line) });
  const listen = (viewer: Viewer) => viewer.feed.listen({ upgrades: [], fresh: [], after: undefined, greeting: {} }, () => undefined);
  return { viewers, clock, known, changed, opened, said, listen };
}

test('each token has a look of its own, the same one for all its pages, and one that is not known has none', async () => {
  const { viewers, opened, said } = lookedAt();
  const [alice, again, bob] = await Promise.all(['token-of-alice', 'token-of-alice', 'token-of-bob'].map((token) => viewers.enter(token)));
  expect(again).toBe(alice);
  expect(bob).not.toBe(alice);
  expect(opened.map(({ token }) => token)).toEqual(['token-of-alice', 'token-of-bob']);
  await expect(viewers.enter('token-of-mallory')).rejects.toThrow(/does not know this token/);
  expect(viewers.size).toBe(2);
  expect(said.join()).not.toContain('token-of');
});

test('a look ends when its token has run out or its rights have changed, within a minute, and with it its streams', async () => {
  const { viewers, clock, known, changed, listen } = lookedAt();
  const [alice, bob, carol] = [
    await viewers.enter('token-of-alice'),
    await viewers.enter('token-of-bob'),
    await viewers.enter('token-of-carol'),
  ];
  for (const viewer of [alice, bob, carol]) listen(viewer);
  known.delete('token-of-alice');
  changed.add('token-of-bob');
  await clock.advance(59_000);
  await viewers.round();
  expect([alice, bob, carol].map(({ ended }) => ended.aborted)).toEqual([false, false, false]);
  await clock.advance(1_000);
  await viewers.round();
  expect([alice, bob, carol].map(({ ended }) => ended.aborted)).toEqual([true, true, false]);
  await expect(viewers.enter('token-of-alice')).rejects.toThrow(/does not know this token/);
});

test('a look that nobody has a page of ends, and one beyond the limit waits for room', async () => {
  const { viewers, clock, listen } = lookedAt({ most: 1 });
  const alice = await viewers.enter('token-of-alice');
  const leave = listen(alice);
  await expect(viewers.enter('token-of-bob')).rejects.toThrow(/1 people look already/);
  await clock.advance(90_000);
  await viewers.round();
  expect(alice.ended.aborted).toBe(false);
  leave();
  await viewers.round();
  expect(alice.ended.aborted).toBe(true);
  const bob = await viewers.enter('token-of-bob');
  // Somebody who holds no stream makes room at once.
  await viewers.enter('token-of-carol');
  expect(bob.ended.aborted).toBe(true);
});

test('a server that does not answer takes nobody in, and throws nobody out', async () => {
  const { viewers, clock, opened, listen } = lookedAt();
  const alice = await viewers.enter('token-of-alice');
  listen(alice);
  const [first] = opened;
  if (first) Object.assign(first.viewer, { isStillSo: () => Promise.reject(new Error('no answer')) });
  await clock.advance(60_000);
  await viewers.round();
  expect(alice.ended.aborted).toBe(false);
});

test.each([
  { name: 'a pasted token', proxyHeader: undefined, headers: { authorization: 'Bearer token-of-alice' }, want: 'alice' },
  { name: 'none', proxyHeader: undefined, headers: {}, want: /log in with one/ },
  {
    name: 'a header of two lines',
    proxyHeader: undefined,
    headers: { authorization: 'Bearer a\r\nImpersonate-User: admin' },
    want: /log in/,
  },
  {
    name: "a proxy's token",
    proxyHeader: 'x-forwarded-access-token',
    headers: { 'x-forwarded-access-token': 'token-of-bob', authorization: 'Bearer token-of-alice' },
    want: 'bob',
  },
  {
    name: 'a proxy that sends none',
    proxyHeader: 'x-forwarded-access-token',
    headers: { authorization: 'Bearer token-of-alice' },
    want: /header x-forwarded-access-token has no token/,
  },
] as const)('$name lets in whom it names alone', async ({ proxyHeader, headers, want }) => {
  const { viewers } = lookedAt();
  const door = sharedDoor({ origins: ['https://c.example.com'], proxyHeader, viewers });
  const entering = door.enter(headers);
  if (typeof want === 'string') expect((await entering).greeting.viewer).toBe(want);
  else await expect(entering).rejects.toThrow(want);
});
