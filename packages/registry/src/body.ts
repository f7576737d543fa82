import type { Readable } from 'node:stream';

/** Slowest accepted body. */
export interface StallLimits {
  /** Length of one observation, in milliseconds. */
  windowMs: number;
  /** Bytes that must arrive in it, unless the reader is the slow side. */
  minBytes: number;
}

// Generous: bytes here survive a cut, bytes in the socket do not.
const HIGH_WATER = 512 * 1024;
const LOW_WATER = 128 * 1024;

/**
 * Yields every byte that arrived, even right before the connection broke. Async iteration of a stream drops its buffer at the error, and those bytes
 * would have to be served again.
 */
export async function* drainBody(body: Readable, limits: StallLimits): AsyncGenerator<Buffer> {
  const queue: Buffer[] = [];
  const state = { queued: 0, received: 0, paused: false, ended: false, failure: undefined as unknown, wake: () => {} };
  body.on('data', (chunk: Buffer) => {
    queue.push(chunk);
    state.queued += chunk.length;
    state.received += chunk.length;
    if (state.queued > HIGH_WATER) {
      state.paused = true;
      body.pause();
    }
    state.wake();
  });
  const finish = (failure?: unknown) => {
    state.ended = true;
    state.failure ??= failure;
    state.wake();
  };
  body.on('end', () => finish());
  body.on('error', (error) => finish(error));
  body.on('close', () => finish(state.ended ? undefined : new Error('connection closed')));
  const stall = setInterval(() => {
    if (!state.paused && state.received < limits.minBytes)
      body.destroy(new Error(`fewer than ${limits.minBytes} bytes in ${limits.windowMs} ms`));
    state.received = 0;
  }, limits.windowMs);
  try {
    for (;;) {
      for (let chunk = queue.shift(); chunk; chunk = queue.shift()) {
        state.queued -= chunk.length;
        if (state.paused && state.queued < LOW_WATER) {
          state.paused = false;
          body.resume();
        }
        yield chunk;
      }
      if (state.failure) throw state.failure;
      if (state.ended) return;
      await new Promise<void>((resolve) => {
        state.wake = resolve;
      });
    }
  } finally {
    clearInterval(stall);
    body.destroy();
  }
}
