import type { StreamMessage, UpgradeRow } from '@flotilla/api/answers';
import { expect, test, vi } from 'vitest';
import { History } from './history.ts';
import { type Said, Session } from './session.ts';

const spoke = (key: string, version = '4.18.8') => ({
  key,
  state: 'none' as const,
  batch: null,
  cached: null,
  cause: null,
  says: null,
  upgrade: null,
  version,
  available: 'yes' as const,
  availableSince: null,
  hold: null,
});
const whole = (...keys: string[]) => ({ isWhole: true, rows: keys.map((key) => spoke(key)), cells: [], gone: [] });
const member = (key: string) => ({ key, state: 'waiting' as const, batch: 1, cached: null, cause: null, says: null });
const membersOf = (upgrade: string, ...keys: string[]): StreamMessage => ({
  members: { upgrade, changes: { isWhole: true, rows: keys.map(member), cells: [], gone: [] } },
});

/** A server of streams: each request is one that a test writes to, until it is aborted. */
class Streams {
  readonly asked: {
    url: URL;
    after: string | null;
    isOpen: boolean;
    write: (id: string | undefined, message: StreamMessage) => void;
    cut: () => void;
  }[] = [];

  fetch = (path: string | URL | Request, { headers, signal }: RequestInit = {}): Promise<Response> => {
    const encoder = new TextEncoder();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const seen = {
      url: new URL(path instanceof Request ? path.url : path, 'http://console.test'),
      after: new Headers(headers).get('last-event-id'),
      isOpen: true,
      write: (id: string | undefined, message: StreamMessage) =>
        void writer.write(encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`)),
      cut: () => void writer.abort(new Error('cut')),
    };
    signal?.addEventListener('abort', () => {
      seen.isOpen = false;
      writer.abort(new Error('aborted')).catch(() => undefined);
    });
    this.asked.push(seen);
    return Promise.resolve(new Response(readable));
  };

  get open() {
    return this.asked.filter(({ isOpen }) => isOpen);
  }
}

/** A tab that remembers what it heard. */
function tabOf(session: Session) {
  const heard: Said[] = [];
  const seat = session.join((said) => heard.push(said));
  const messages = (): StreamMessage[] => heard.flatMap((said) => (said.kind === 'message' ? [said.message] : []));
  return { heard, seat, messages };
}

function begin(): { streams: Streams; session: Session } {
  const streams = new Streams();
  return { streams, session: new Session('token', streams.fetch) };
}

test('tabs share one stream; one that comes later gets everything from the first, and nobody holds one that nobody sees', async () => {
  const { streams, session } = begin();
  const first = tabOf(session);
  first.seat.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1));
  streams.asked[0]?.write('r-1', { server: 'https://hub', spokes: whole('a', 'b'), upgrades: whole() as never });
  await vi.waitFor(() => expect(first.messages()).toHaveLength(1));

  const second = tabOf(session);
  second.seat.see(true);
  expect(streams.asked).toHaveLength(1);
  expect(second.messages()).toEqual([expect.objectContaining({ server: 'https://hub', spokes: whole('a', 'b') })]);
  streams.asked[0]?.write('r-2', { spokes: { isWhole: false, rows: [], cells: [{ key: 'a', version: '4.18.9' }], gone: ['b'] } });
  await vi.waitFor(() => expect(second.messages()).toHaveLength(2));

  first.seat.see(false);
  second.seat.leave();
  expect(streams.open).toHaveLength(0);
  first.seat.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1));
  expect(streams.open[0]?.after).toBe('r-2');
  expect(first.messages().at(-1)?.spokes).toEqual({ ...whole(), rows: [spoke('a', '4.18.9')] });
  first.seat.leave();
});

test('members that a tab wants are asked for once, kept for the next tab, and forgotten when nobody shows them', async () => {
  const { streams, session } = begin();
  const first = tabOf(session);
  first.seat.look('ran/site');
  first.seat.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1));
  expect(streams.open[0]?.url.searchParams.getAll('fresh')).toEqual(['ran/site']);
  streams.open[0]?.write(undefined, membersOf('ran/site', 'a'));
  streams.open[0]?.write('r-1', { spokes: whole('a') });
  await vi.waitFor(() => expect(first.messages()).toHaveLength(2));

  const second = tabOf(session);
  second.seat.see(true);
  second.seat.look('ran/site');
  expect(second.messages().at(-1)).toEqual(membersOf('ran/site', 'a'));
  second.seat.look('ran/west');
  await vi.waitFor(() => expect(streams.open).toHaveLength(1));
  expect([...(streams.open[0]?.url.searchParams ?? [])]).toEqual([
    ['upgrade', 'ran/site'],
    ['fresh', 'ran/west'],
  ]);
  first.seat.leave();
  await vi.waitFor(() => expect([...(streams.open[0]?.url.searchParams ?? [])]).toEqual([['fresh', 'ran/west']]));
  second.seat.leave();
});

test.each([401, 403])('after %i nobody is let in, until a tab comes that has logged in again', async (status) => {
  const streams = new Streams();
  let isRefused = true;
  const session = new Session('', (...args) => (isRefused ? Promise.resolve(new Response('<html>', { status })) : streams.fetch(...args)));
  const first = tabOf(session);
  first.seat.see(true);
  await vi.waitFor(() => expect(first.heard).toContainEqual({ kind: 'state', state: 'refused' }));
  isRefused = false;
  const second = tabOf(session);
  second.seat.see(true);
  await vi.waitFor(() => expect(second.heard.at(-1)).toEqual({ kind: 'state', state: 'live' }));
  expect(first.heard.at(-1)).toEqual({ kind: 'state', state: 'live' });
  first.seat.leave();
  second.seat.leave();
});

test('a 403 of the server itself may pass: it is asked again', async () => {
  const answer = new Response('{"error":"not now"}', { status: 403, headers: { 'content-type': 'application/json; charset=utf-8' } });
  const session = new Session('token', () => Promise.resolve(answer));
  const tab = tabOf(session);
  tab.seat.see(true);
  await vi.waitFor(() => expect(tab.heard.at(-1)).toEqual({ kind: 'state', state: 'lost' }));
  tab.seat.leave();
});

test('a stream that is cut is said to be lost, and taken up again where it was', async () => {
  const { streams, session } = begin();
  const tab = tabOf(session);
  tab.seat.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1));
  streams.asked[0]?.write('r-7', { spokes: whole('a') });
  await vi.waitFor(() => expect(tab.messages()).toHaveLength(1));
  streams.asked[0]?.cut();
  await vi.waitFor(() => expect(tab.heard).toContainEqual({ kind: 'state', state: 'lost' }));
  await vi.waitFor(() => expect(streams.asked).toHaveLength(2), 3_000);
  expect(streams.asked[1]?.after).toBe('r-7');
  tab.seat.leave();
});

test('a history keeps what moves, and half of it when it grows too long', () => {
  const history = new History();
  const row = (done: number): UpgradeRow =>
    ({ clusters: { total: 10_000, done, failed: 0, inBatch: 0, left: 0 }, cached: null }) as unknown as UpgradeRow;
  for (let second = 0; second < 2_000; second += 1) history.note(new Map([['ran/site', row(second)]]), second * 1_000);
  const samples = history.of('ran/site');
  expect(samples.length).toBeGreaterThan(250);
  expect(samples.length).toBeLessThanOrEqual(600);
  expect(samples.at(-1)?.done).toBeGreaterThan(1_980);
  expect(history.note(new Map([['ran/site', row(samples.at(-1)?.done ?? 0)]]), 1e9)).toEqual(new Set());
  history.note(new Map(), 2e9);
  expect(history.of('ran/site')).toEqual([]);
});
