import { FlotillaError } from '@flotilla/api';

/** Every code this package throws; the README's table explains each. */
export const RegistryErrorCode = {
  badReference: 'FLOTILLA_REGISTRY_BAD_REFERENCE',
  badCredentials: 'FLOTILLA_REGISTRY_BAD_CREDENTIALS',
  badManifest: 'FLOTILLA_REGISTRY_BAD_MANIFEST',
  badLayer: 'FLOTILLA_REGISTRY_BAD_LAYER',
  badResponse: 'FLOTILLA_REGISTRY_BAD_RESPONSE',
  badLayout: 'FLOTILLA_REGISTRY_BAD_LAYOUT',
  unauthorized: 'FLOTILLA_REGISTRY_UNAUTHORIZED',
  notFound: 'FLOTILLA_REGISTRY_NOT_FOUND',
  noPlatform: 'FLOTILLA_REGISTRY_NO_PLATFORM',
  rateLimited: 'FLOTILLA_REGISTRY_RATE_LIMITED',
  unavailable: 'FLOTILLA_REGISTRY_UNAVAILABLE',
  unreachable: 'FLOTILLA_REGISTRY_UNREACHABLE',
  untrusted: 'FLOTILLA_REGISTRY_UNTRUSTED',
  digestMismatch: 'FLOTILLA_REGISTRY_DIGEST_MISMATCH',
  tooLarge: 'FLOTILLA_REGISTRY_TOO_LARGE',
  aborted: 'FLOTILLA_REGISTRY_ABORTED',
  storeFailed: 'FLOTILLA_REGISTRY_STORE_FAILED',
} as const;
export type RegistryErrorCode = (typeof RegistryErrorCode)[keyof typeof RegistryErrorCode];

/** What a RegistryError knows besides its message. */
export interface RegistryErrorDetails {
  /** The image as its reference names it. */
  image?: string;
  /** `host[:port]` of the server that answered or did not. */
  host?: string;
  /** HTTP status, when there was an answer. */
  status?: number;
  /** What the server asked us to wait (`Retry-After`), milliseconds. */
  retryAfterMs?: number;
  cause?: unknown;
}

/** A failure of a registry, of what it sent, or of the local layout. `code` is stable; `image` and `host` say where. */
export class RegistryError extends FlotillaError {
  declare readonly code: RegistryErrorCode;
  readonly image: string | undefined;
  readonly host: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: RegistryErrorCode, message: string, details: RegistryErrorDetails = {}) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.image = details.image;
    this.host = details.host;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether the same request may succeed when sent again: rate limits, server errors, broken connections. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof RegistryError)) return false;
  const { rateLimited, unavailable, unreachable } = RegistryErrorCode;
  return error.code === rateLimited || error.code === unavailable || error.code === unreachable;
}

/** The error of a call that `signal` ended. */
export function abortedError(signal: AbortSignal, details: RegistryErrorDetails = {}): RegistryError {
  return new RegistryError(RegistryErrorCode.aborted, 'stopped before it was complete', { ...details, cause: signal.reason });
}
