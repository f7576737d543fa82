import { StreamMessage } from '@flotilla/api/answers';
import { createParser } from 'eventsource-parser';
import { credentialOf } from './token.ts';

/** State of the connection to the console's server. */
export type LinkState = 'opening' | 'live' | 'lost' | 'refused';

/** Listeners of a stream. */
interface StreamEvents {
  readonly onMessage: (message: StreamMessage) => void;
  readonly onState: (state: LinkState) => void;
  /** Something came, be it a sign of life alone. */
  readonly onHeard: () => void;
}

/** A stream says that it lives every ten seconds. */
const SILENT_MS = 25_000;
const RETRY_MS = 1_000;

/** Follows the server's rows, while the page is seen, until the signal aborts. @param upgrade whose members are wanted too */
export async function follow(token: string, upgrade: string | undefined, signal: AbortSignal, events: StreamEvents): Promise<void> {
  let last: string | undefined;
  const query = upgrade === undefined ? '' : `?${new URLSearchParams({ upgrade })}`;
  while (!signal.aborted) {
    await untilSeen(signal);
    if (signal.aborted) return;
    const silent = new AbortController();
    const ended = AbortSignal.any([signal, silent.signal]);
    const end = () => silent.abort();
    // A browser has six connections for one host: a page that nobody sees holds none.
    document.addEventListener('visibilitychange', end, { once: true });
    try {
      const headers = { ...credentialOf(token), ...(last !== undefined && { 'last-event-id': last }) };
      const response = await fetch(`/api/stream${query}`, { headers, signal: ended });
      if (response.status === 401) return events.onState('refused');
      if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
      events.onState('live');
      for await (const { id, message } of messagesOf(response.body, { end, heard: events.onHeard })) {
        if (signal.aborted) return;
        last = id ?? last;
        events.onMessage(message);
      }
    } catch {
      // The next attempt repairs it; until then the page says so.
    } finally {
      document.removeEventListener('visibilitychange', end);
    }
    if (signal.aborted) return;
    if (!document.hidden) events.onState('lost');
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? 0 : RETRY_MS));
  }
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

/** Resolves when the page is seen, or at the end. */
function untilSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden || signal.aborted) return resolve();
    const seen = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', seen);
      signal.removeEventListener('abort', seen);
      resolve();
    };
    document.addEventListener('visibilitychange', seen);
    signal.addEventListener('abort', seen);
  });
}
