export type { Finding } from './lint/finding.ts';
export { lintClusterOperatorFile, lintPayload } from './lint/lint-payload.ts';
