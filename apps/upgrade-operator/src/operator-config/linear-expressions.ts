import { setFlagsFromString } from 'node:v8';

/**
 * Has expressions that backtrack too often go on in an engine that does not: those of the ConfigMap are matched with names that
 * anybody may give a namespace, and Go, for which they are written, has no other engine. Counts for the whole process.
 */
export const keepExpressionsLinear = (): void => setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
