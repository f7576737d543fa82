export { lintClusterOperatorFile, lintPayload } from './lint/lint-payload.ts';
export type { Finding } from './lint/source.ts';
