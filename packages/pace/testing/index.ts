/** For tests and benches: a clock that stands still, one that can be put ahead, and waiting until something is so. */
export { eventually } from './eventually.ts';
export { ManualClock } from './manual-clock.ts';
export { SkippingClock } from './skipping-clock.ts';
