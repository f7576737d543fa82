export { type BackOff, backOffMs } from './back-off.ts';
export { BandwidthLimit } from './bandwidth.ts';
export { type Clock, MAX_TIMEOUT_MS, pause, systemClock } from './clock.ts';
export { Coalescer } from './coalescer.ts';
export { mapConcurrently, Semaphore } from './concurrency.ts';
