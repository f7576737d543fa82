export { buildReleaseHead } from './payload/release-head-builders.ts';
export { signatureContent, signed, type TestKey, testKey } from './signatures/signature-builders.ts';
