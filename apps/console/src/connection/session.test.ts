import type { StreamMessage, UpgradeRow } from '@flotilla/api/answers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { History } from './history.ts';
import { Session } from './session.ts';
import type { LinkState } from './stream.ts';

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
    return Promise.resolve(new Response(readable, { headers: { date: 'Sat, 05 Dec 2026 22:00:00 GMT' } }));
  };

  get open() {
    return this.asked.filter(({ isOpen }) => isOpen);
  }
}

/** A tab that remembers what it heard, on a server of streams. */
function begin(ask?: typeof fetch) {
  const streams = new Streams();
  const [messages, states, times]: [StreamMessage[], LinkState[], number[]] = [[], [], []];
  const events = {
    onMessage: (message: StreamMessage) => void messages.push(message),
    onState: (state: LinkState) => void states.push(state),
    onHeard: () => undefined,
    onTime: (said: number) => void times.push(said),
  };
  const session = new Session('token', events, ask ?? streams.fetch);
  return { streams, session, messages, states, times, [Symbol.dispose]: () => session.see(false) };
}

test('a tab holds one stream while it is seen and none else, and goes on where it was', async () => {
  using tab = begin();
  const { streams, session, messages } = tab;
  expect(streams.asked).toHaveLength(0);
  session.see(true);
  session.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1), 20_000);
  streams.asked[0]?.write('r-1', { server: 'https://hub', spokes: whole('a', 'b') });
  await vi.waitFor(() => expect(messages).toHaveLength(1), 20_000);
  expect(tab.times).toEqual([Date.parse('2026-12-05T22:00:00Z')]);
  session.see(false);
  expect(streams.open).toHaveLength(0);
  session.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1), 20_000);
  expect(streams.open[0]?.after).toBe('r-1');
});

test('members of an upgrade are asked for once while a tab shows them, hidden or seen', async () => {
  using tab = begin();
  const { streams, session, messages } = tab;
  const asked = () => [...(streams.open[0]?.url.searchParams ?? [])];
  session.look('ran/site');
  session.see(true);
  await vi.waitFor(() => expect(asked()).toEqual([['fresh', 'ran/site']]), 20_000);
  streams.open[0]?.write(undefined, membersOf('ran/site', 'a'));
  streams.open[0]?.write('r-1', { spokes: whole('a') });
  await vi.waitFor(() => expect(messages).toHaveLength(2), 20_000);
  session.see(false);
  session.see(true);
  await vi.waitFor(() => expect(asked()).toEqual([['upgrade', 'ran/site']]), 20_000);
  session.look('ran/west');
  await vi.waitFor(() => expect(asked()).toEqual([['fresh', 'ran/west']]), 20_000);
  expect(streams.open).toHaveLength(1);
  session.look(undefined);
  await vi.waitFor(() => expect(asked()).toEqual([]), 20_000);
});

test.each([401, 403])('after %i nobody is let in, until the tab is looked at again', async (status) => {
  const streams = new Streams();
  let isRefused = true;
  using tab = begin((...args) => (isRefused ? Promise.resolve(new Response('<html>', { status })) : streams.fetch(...args)));
  tab.session.see(true);
  await vi.waitFor(() => expect(tab.states.at(-1)).toBe('refused'), 20_000);
  isRefused = false;
  tab.session.see(true);
  await vi.waitFor(() => expect(tab.states.at(-1)).toBe('live'), 20_000);
});

test('a 403 of the server itself may pass: it is asked again', async () => {
  const answer = new Response('{"error":"not now"}', { status: 403, headers: { 'content-type': 'application/json; charset=utf-8' } });
  using tab = begin(() => Promise.resolve(answer));
  tab.session.see(true);
  await vi.waitFor(() => expect(tab.states.at(-1)).toBe('lost'), 20_000);
});

test('a stream that is cut is said to be lost, and taken up again where it was', async () => {
  using tab = begin();
  const { streams, session, messages, states } = tab;
  session.see(true);
  await vi.waitFor(() => expect(streams.open).toHaveLength(1), 20_000);
  streams.asked[0]?.write('r-7', { spokes: whole('a') });
  await vi.waitFor(() => expect(messages).toHaveLength(1), 20_000);
  streams.asked[0]?.cut();
  await vi.waitFor(() => expect(states.at(-1)).toBe('lost'), 20_000);
  await vi.waitFor(() => expect(streams.asked).toHaveLength(2), 3_000);
  expect(streams.asked[1]?.after).toBe('r-7');
});

test('a question that nobody passes on is given up, and asked again', async () => {
  const asked: AbortSignal[] = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  using tab = begin((_, { signal } = {}) => {
    if (!signal) throw new TypeError('nothing would end it');
    asked.push(signal);
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  });
  tab.session.see(true);
  await vi.advanceTimersByTimeAsync(12_000);
  expect(tab.states.at(-1)).toBe('lost');
  expect(asked.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test('a history keeps what moves, and half of it when it grows too long', () => {
  const history = new History();
  const row = (done: number): UpgradeRow =>
    ({ key: 'ran/site', clusters: { total: 10_000, done, failed: 0, inBatch: 0, left: 0 }, cached: null }) as unknown as UpgradeRow;
  for (let second = 0; second < 2_000; second += 1) history.note([row(second)], second * 1_000);
  const samples = history.of('ran/site');
  expect(samples.length).toBeGreaterThan(250);
  expect(samples.length).toBeLessThanOrEqual(600);
  expect(samples.at(-1)?.done).toBeGreaterThan(1_980);
  expect(history.note([row(samples.at(-1)?.done ?? 0)], 1e9)).toEqual(new Set());
  history.note([], 2e9);
  expect(history.of('ran/site')).toEqual([]);
});
