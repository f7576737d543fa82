/** For tests and benches: a clock that stands still, one that can be put ahead, and a wait for a condition. */
export { eventually, settled } from './eventually.ts';
export { ManualClock } from './manual-clock.ts';
export { SkippingClock } from './skipping-clock.ts';
