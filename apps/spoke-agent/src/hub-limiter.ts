import { createTokenBucket } from '@flotilla/agent';
import { type Clock, pause } from '@flotilla/runtime';

/** Waits until the agent may write to the hub again. */
export type HubLimiter = (signal: AbortSignal) => Promise<void>;

/** Creates the limiter of writes per second and burst; default: the stock agent's limit over actions and views together (spec/ocm 1.6). */
export function createHubLimiter(clock: Clock, qps?: number, burst?: number): HubLimiter {
  const bucket = createTokenBucket(qps, burst);
  return async (signal) => {
    await pause(clock, bucket.reserve(clock.now()), signal);
    signal.throwIfAborted();
  };
}
