import { errorMessage, FlotillaError, TerminalError } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import { isNeverReached, RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { ReleaseError } from '@flotilla/release';
import { SpecError } from '@flotilla/software';

/** Codes of this program's refusals; those of packages/software, registry and release pass through. */
export const PullerErrorCode = {
  /** An environment variable has an invalid value. */
  configInvalid: 'FLOTILLA_PULLER_CONFIG_INVALID',
  noSpace: 'FLOTILLA_PULLER_NO_SPACE',
  /** The node's store does not answer. */
  storeUnreachable: 'FLOTILLA_PULLER_STORE_UNREACHABLE',
  /** The node's store refused to pull the image. */
  storeRefused: 'FLOTILLA_PULLER_STORE_REFUSED',
} as const;
export type PullerErrorCode = (typeof PullerErrorCode)[keyof typeof PullerErrorCode];

/** The node has too little space for the images. */
export class NoSpaceError extends TerminalError {
  constructor(message: string, options?: { cause?: unknown }) {
    super(PullerErrorCode.noSpace, message, options);
  }
}

/** Failure of the store; `transient` tells whether the same call may succeed later. */
export class StoreError extends FlotillaError {
  readonly transient: boolean;
  /** Code of gRPC with which a runtime refused; undefined for other failures. */
  readonly refusedWith: number | undefined;
  constructor(code: PullerErrorCode, message: string, options: { transient: boolean; refusedWith?: number; cause?: unknown }) {
    super(code, message, { cause: options.cause });
    this.transient = options.transient;
    this.refusedWith = options.refusedWith;
  }
}

/** The registry gave other bytes than their digest says; a second try from the start may get the right ones. */
export class CorruptBlobError extends StoreError {
  constructor(message: string, options: { cause?: unknown }) {
    super(PullerErrorCode.storeRefused, message, { transient: true, cause: options.cause });
  }
}

/** The runtime's failure with ours before it. A server that we did not reach comes after it: the runtime may have asked another one. */
export function withOwnFailure(failure: unknown, own: unknown): unknown {
  if (!(failure instanceof StoreError)) return failure;
  const isSecond = own instanceof RegistryError && isNeverReached(own);
  const [first, second] = isSecond ? [failure.message, errorMessage(own)] : [errorMessage(own), failure.message];
  const { code, transient, refusedWith } = failure;
  return new StoreError(code as PullerErrorCode, `${first}; ${isSecond ? 'here' : 'by the runtime'}: ${second}`, {
    transient,
    refusedWith,
  });
}

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
