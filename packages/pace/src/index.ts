export { BandwidthLimit } from './bandwidth.ts';
export { type BackOff, backOffMs, type Clock, earliest, MAX_TIMEOUT_MS, pause, systemClock } from './clock.ts';
export { Coalescer } from './coalescer.ts';
export { mapConcurrently, Semaphore } from './concurrency.ts';
