import { FlotillaError, TerminalError } from '@flotilla/api';

/** Codes of what this program refuses; those of the registry client and of packages/release pass through. */
export const PullerErrorCode = {
  /** An environment variable has a value that cannot be used. */
  configInvalid: 'FLOTILLA_PULLER_CONFIG_INVALID',
  /** A key of the ConfigMap is missing, too large or malformed. */
  specInvalid: 'FLOTILLA_PULLER_SPEC_INVALID',
  /** An image of the spec is not what its key says: no release image, no operator index. */
  imageUnsuitable: 'FLOTILLA_PULLER_IMAGE_UNSUITABLE',
  noSpace: 'FLOTILLA_PULLER_NO_SPACE',
  /** The node's store does not answer. */
  storeUnreachable: 'FLOTILLA_PULLER_STORE_UNREACHABLE',
  /** The node's store answered that it does not pull the image. */
  storeRefused: 'FLOTILLA_PULLER_STORE_REFUSED',
} as const;
export type PullerErrorCode = (typeof PullerErrorCode)[keyof typeof PullerErrorCode];

/** The spec, or an image it names, cannot be used. */
export class SpecError extends TerminalError {}

/** There is less room than the images need. */
export class NoSpaceError extends TerminalError {
  constructor(message: string, options?: { cause?: unknown }) {
    super(PullerErrorCode.noSpace, message, options);
  }
}

/** The store failed. `transient` says whether the same call may succeed later. */
export class StoreError extends FlotillaError {
  readonly transient: boolean;
  constructor(code: PullerErrorCode, message: string, options: { transient: boolean; cause?: unknown }) {
    super(code, message, { cause: options.cause });
    this.transient = options.transient;
  }
}
