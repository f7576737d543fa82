/** Entry for property runs: `*.fuzz.test.ts` beside the source, run by the project `fuzz`. */
export type { FuzzOptions, FuzzReport, FuzzTarget, NamedTarget } from './fuzzing/fuzz.ts';
export { defineTarget, fuzz, fuzzOptions } from './fuzzing/fuzz.ts';
export { measure } from './fuzzing/measure.ts';
export { RandomValues } from './fuzzing/random-values.ts';
