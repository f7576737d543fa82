import { FlotillaError } from '@flotilla/api';

/** Codes of requests without a usable answer. */
export const HttpErrorCode = {
  /** No connection, or it was lost. */
  unreachable: 'FLOTILLA_HTTP_UNREACHABLE',
  /** A redirect led off https, to another kind of URL, or round in circles. */
  redirected: 'FLOTILLA_HTTP_REDIRECTED',
  /** No whole answer within the time. */
  timeout: 'FLOTILLA_HTTP_TIMEOUT',
  /** More bytes than the caller reads. */
  tooLarge: 'FLOTILLA_HTTP_TOO_LARGE',
} as const;
/** Code of a request without a usable answer. */
export type HttpErrorCode = (typeof HttpErrorCode)[keyof typeof HttpErrorCode];

/** Failure of a request. Its message gives the reason without path or headers. */
export class HttpError extends FlotillaError {
  declare readonly code: HttpErrorCode;
  /** Status of a refused redirect; else 0. */
  readonly status: number;
  constructor(code: HttpErrorCode, message: string, { status = 0, cause }: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(code, message, { cause });
    this.status = status;
  }
}

/** Codes of calls to services beside the API server. */
export const ServiceErrorCode = {
  /** No connection, or it was lost before the whole answer was there. */
  unreachable: 'FLOTILLA_SERVICE_UNREACHABLE',
  /** No whole answer within the try's time. */
  timeout: 'FLOTILLA_SERVICE_TIMEOUT',
  /** 401 or 403. */
  unauthorized: 'FLOTILLA_SERVICE_UNAUTHORIZED',
  /** 429. */
  throttled: 'FLOTILLA_SERVICE_THROTTLED',
  /** 5xx. */
  unavailable: 'FLOTILLA_SERVICE_UNAVAILABLE',
  /** Any other status that the call does not expect. */
  refused: 'FLOTILLA_SERVICE_REFUSED',
  /** An answer that is not what the service gives: no JSON, wrong fields, an error document. */
  badAnswer: 'FLOTILLA_SERVICE_BAD_ANSWER',
  /** An answer larger than its bound. */
  tooLarge: 'FLOTILLA_SERVICE_TOO_LARGE',
  /** A call lacks its address, certificate, token or identity. */
  notConfigured: 'FLOTILLA_SERVICE_NOT_CONFIGURED',
} as const;
export type ServiceErrorCode = (typeof ServiceErrorCode)[keyof typeof ServiceErrorCode];

interface ServiceErrorDetails {
  /** 0: no answer came. */
  readonly status?: number;
  /** The service's own words, bounded, without credentials. */
  readonly words?: string;
  /** Delay that `Retry-After` asked for. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A call to a service failed. Its message names service, verb and path, never a query, a header or a body that was sent. */
export class ServiceError extends FlotillaError {
  declare readonly code: ServiceErrorCode;
  readonly status: number;
  readonly words: string;
  readonly retryAfterMs: number | undefined;
  constructor(code: ServiceErrorCode, message: string, { status = 0, words = '', retryAfterMs, cause }: ServiceErrorDetails = {}) {
    super(code, message, { cause });
    this.status = status;
    this.words = words;
    this.retryAfterMs = retryAfterMs;
  }

  /** The same failure in other words. */
  reworded(message: string): ServiceError {
    const { code, status, words, retryAfterMs, cause } = this;
    return new ServiceError(code, message, { status, words, retryAfterMs, cause });
  }
}

/** The code of a status that a call does not expect. */
export function codeOfStatus(status: number): ServiceErrorCode {
  if (status === 401 || status === 403) return ServiceErrorCode.unauthorized;
  if (status === 429) return ServiceErrorCode.throttled;
  return status >= 500 ? ServiceErrorCode.unavailable : ServiceErrorCode.refused;
}
