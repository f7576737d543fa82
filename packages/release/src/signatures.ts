export { digestOfPullSpec } from './signatures/digest.ts';
export { readVerificationConfig, type SignatureStoreAddress, signatureLimits } from './signatures/verification-config.ts';
export { type SignatureStore, signatureStages, verifyRelease } from './signatures/verify-release.ts';
