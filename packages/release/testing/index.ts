export { contractsOver } from './given-parts.ts';
export { buildReleaseHead } from './release-head-builders.ts';
export { signatureContent, signed, type TestKey, testKey } from './signature-builders.ts';
