/** Entry for property runs: `*.fuzz.test.ts` beside the source, run by the project `fuzz`. */
export { defineTarget } from './fuzz.ts';
export { measure } from './measure.ts';
export { RandomValues } from './random-values.ts';
