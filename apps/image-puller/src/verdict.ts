import { TerminalError } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { ReleaseError } from '@flotilla/release';
import { SpecError } from '@flotilla/software';
import { NoSpaceError, PullerErrorCode, StoreError } from './errors.ts';

/** Exit code of the program. */
export type ExitCode = (typeof PullerExit)[keyof typeof PullerExit];

/** Codes of unusable images, which the spec names by mistake, and of unusable configuration. */
const unusable: ReadonlySet<string> = new Set([
  RegistryErrorCode.badConfig,
  RegistryErrorCode.badReference,
  RegistryErrorCode.badManifest,
  RegistryErrorCode.badLayer,
  RegistryErrorCode.noPlatform,
  RegistryErrorCode.tooLarge,
]);

/** Maps the error that ended the run to an exit code. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof NoSpaceError) return PullerExit.noSpace;
  if (error instanceof SpecError || error instanceof ReleaseError) return PullerExit.badSpec;
  if (error instanceof TerminalError && error.code === PullerErrorCode.configInvalid) return PullerExit.badSpec;
  if (error instanceof StoreError) return PullerExit.internal;
  if (!(error instanceof RegistryError)) return PullerExit.internal;
  if (unusable.has(error.code)) return PullerExit.badSpec;
  return error.code === RegistryErrorCode.storeFailed || error.code === RegistryErrorCode.badLayout
    ? PullerExit.internal
    : PullerExit.registryRefused;
}

/** Maps a finished run to an exit code: partly done when images are missing, refused when all are. */
export function exitCodeOfPull({ done, failed }: { readonly done: number; readonly failed: number }): ExitCode {
  if (failed === 0) return PullerExit.done;
  return done === 0 ? PullerExit.registryRefused : PullerExit.partlyDone;
}
