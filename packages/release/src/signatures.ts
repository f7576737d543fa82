export { readVerificationConfig, type SignatureStoreAddress, signatureLimits } from './signatures/verification-config.ts';
export { digestOfPullSpec, type SignatureStore, signatureStages, verifyRelease } from './signatures/verify-release.ts';
