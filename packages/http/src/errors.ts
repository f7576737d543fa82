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
/** One of them. */
export type HttpErrorCode = (typeof HttpErrorCode)[keyof typeof HttpErrorCode];

/** A request has no usable answer. The message says why, and holds neither path nor headers. */
export class HttpError extends FlotillaError {
  declare readonly code: HttpErrorCode;
  /** Of the redirect that is not followed; else 0. */
  readonly status: number;
  constructor(code: HttpErrorCode, message: string, { status = 0, cause }: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(code, message, { cause });
    this.status = status;
  }
}
