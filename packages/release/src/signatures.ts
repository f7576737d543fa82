export { digestOfPullSpec, isVerifiableDigest } from './signatures/digest.ts';
export { type Keyring, readKeyring } from './signatures/keyring.ts';
export {
  readVerificationConfig,
  type SignatureStoreAddress,
  signatureLimits,
  type VerificationConfig,
} from './signatures/verification-config.ts';
export {
  type SignatureStage,
  type SignatureStore,
  signatureStages,
  type VerifiedRelease,
  verifyRelease,
} from './signatures/verify-release.ts';
