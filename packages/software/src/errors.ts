import { TerminalError } from '@flotilla/api';

/** Codes of refused specs; those of the registry client and of packages/release pass through. */
export const SoftwareErrorCode = {
  /** A key of the ConfigMap is missing, too large or malformed. */
  specInvalid: 'FLOTILLA_PULLER_SPEC_INVALID',
  /** An image of the spec contradicts its key: no release image, no operator index. */
  imageUnsuitable: 'FLOTILLA_PULLER_IMAGE_UNSUITABLE',
} as const;

/** The spec, or an image in it, is invalid. */
export class SpecError extends TerminalError {}
