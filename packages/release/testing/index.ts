export { contractsOver } from './given-parts.ts';
export {
  buildOperator,
  buildOperatorScript,
  buildRelease,
  buildReleased,
  buildReleaseHead,
  buildSignersOf,
  INCLUDED,
  payloadFilesOf,
  type ReleaseFiles,
  releaseTexts,
  writeRelease,
} from './release-builders.ts';
export { signatureContent, signed, type TestKey, testKey } from './signature-builders.ts';
