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
