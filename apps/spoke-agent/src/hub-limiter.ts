import { createTokenBucket } from '@flotilla/api';
import { type Clock, pause } from '@flotilla/runtime';

/** Waits until the agent may write to the hub again. */
export type HubLimiter = (signal: AbortSignal) => Promise<void>;

/** The stock agent's limit over both kinds: 5 writes a second, 10 at once (spec/ocm 1.6). */
export function createHubLimiter(clock: Clock): HubLimiter {
  const bucket = createTokenBucket();
  return async (signal) => {
    await pause(clock, bucket.reserve(clock.now()), signal);
    signal.throwIfAborted();
  };
}
