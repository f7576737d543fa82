import { StreamMessage } from '@flotilla/api/answers';
import { createParser } from 'eventsource-parser';
import { credentialOf } from './token.ts';

/** State of the connection to the console's server. */
export type LinkState = 'opening' | 'live' | 'lost' | 'refused';

/** Listeners of a stream. */
export interface StreamEvents {
  readonly onMessage: (message: StreamMessage) => void;
  readonly onState: (state: LinkState) => void;
  /** Something came, be it a sign of life alone. */
  readonly onHeard: () => void;
  /** The server's time, milliseconds since the epoch. */
  readonly onTime: (said: number) => void;
}

/** Beginning of a stream. */
interface StreamStart extends StreamEvents {
  readonly token: string;
  /** Asks the server; of the browser, but for tests. */
  readonly fetch: typeof fetch;
  /** Upgrades whose members are there, and those whose members are wanted anew. */
  readonly wish: () => { readonly upgrades: readonly string[]; readonly fresh: readonly string[] };
  /** Id of the last message that was taken, kept by whoever keeps the rows. */
  readonly place: { last: string | undefined };
}

/** A stream says that it lives every ten seconds. */
const SILENT_MS = 25_000;
/** A server that is there begins at once; something between may take a question and never pass it on. */
const BEGIN_MS = 10_000;
const RETRY_MS = 1_000;
/** A clock that jumps this far was set, or has slept, and its connections may be dead without a word. */
const CLOCK_MS = 5_000;
const JUMP_MS = 20_000;

/** Follows the server's rows until the signal aborts; a stream that breaks is taken up again where it was. */
export async function follow(start: StreamStart, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const outcome = await followOnce(start, signal);
    if (signal.aborted) return;
    start.onState(outcome);
    if (outcome === 'refused') return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function followOnce({ token, fetch: ask, wish, place, ...events }: StreamStart, signal: AbortSignal): Promise<'lost' | 'refused'> {
  const silent = new AbortController();
  const end = (): void => silent.abort();
  const clock = watchClock(end);
  const begins = setTimeout(end, BEGIN_MS);
  try {
    const { upgrades, fresh } = wish();
    const query = new URLSearchParams([...upgrades.map((key) => ['upgrade', key]), ...fresh.map((key) => ['fresh', key])]);
    const headers = { ...credentialOf(token), ...(place.last !== undefined && { 'last-event-id': place.last }) };
    const response = await ask(`/api/stream?${query}`, { headers, redirect: 'manual', signal: AbortSignal.any([signal, silent.signal]) });
    clearTimeout(begins);
    if (isRefused(response)) return 'refused';
    if (!response.ok || !response.body) return 'lost';
    events.onState('live');
    const said = Date.parse(response.headers.get('date') ?? '');
    if (!Number.isNaN(said)) events.onTime(said);
    for await (const { id, message } of messagesOf(response.body, { end, heard: events.onHeard })) {
      if (signal.aborted) return 'lost';
      events.onMessage(message);
      place.last = id ?? place.last;
    }
  } catch {
    // The next attempt repairs it; until then the page says so.
  } finally {
    clearTimeout(begins);
    clearInterval(clock);
    end();
  }
  return 'lost';
}

/** Our server answers 401. A proxy whose log-in has run out may show its page with 403, or lead to the one of its issuer; our own 403 is JSON, and may pass. */
const isRefused = ({ status, type, headers }: Response): boolean =>
  status === 401 || type === 'opaqueredirect' || (status === 403 && headers.get('content-type')?.includes('json') !== true);

/** Ends what it watches over when the machine has slept, or its clock was set. */
function watchClock(end: () => void): ReturnType<typeof setInterval> {
  let before = Date.now();
  return setInterval(() => {
    const now = Date.now();
    if (Math.abs(now - before) > JUMP_MS) end();
    before = now;
  }, CLOCK_MS);
}

interface Received {
  readonly id: string | undefined;
  readonly message: StreamMessage;
}

interface Life {
  readonly end: () => void;
  readonly heard: () => void;
}

async function* messagesOf(body: ReadableStream<Uint8Array>, { end, heard }: Life): AsyncGenerator<Received> {
  const received: Received[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => received.push({ id, message: StreamMessage.parse(JSON.parse(data)) }) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const silence = setTimeout(end, SILENT_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    heard();
    parser.feed(decoder.decode(value, { stream: true }));
    yield* received.splice(0);
  }
}
