/** For tests and benches: a clock that stands still, and waiting until something is so. */
export { eventually } from './eventually.ts';
export { ManualClock } from './manual-clock.ts';
