import { errorMessage, FlotillaError } from '@flotilla/api';

/** Codes of this package. One per condition a caller can act on. */
export const RuntimeErrorCode = {
  kubeconfig: 'FLOTILLA_KUBECONFIG_INVALID',
  execPlugin: 'FLOTILLA_EXEC_PLUGIN',
  invalidRef: 'FLOTILLA_REF_INVALID',
  timeout: 'FLOTILLA_API_TIMEOUT',
  unreachable: 'FLOTILLA_API_UNREACHABLE',
  tooLarge: 'FLOTILLA_API_TOO_LARGE',
  badAnswer: 'FLOTILLA_API_BAD_ANSWER',
  unauthorized: 'FLOTILLA_API_UNAUTHORIZED',
  forbidden: 'FLOTILLA_API_FORBIDDEN',
  notFound: 'FLOTILLA_API_NOT_FOUND',
  conflict: 'FLOTILLA_API_CONFLICT',
  alreadyExists: 'FLOTILLA_API_ALREADY_EXISTS',
  expired: 'FLOTILLA_API_EXPIRED',
  invalid: 'FLOTILLA_API_INVALID',
  throttled: 'FLOTILLA_API_THROTTLED',
  unavailable: 'FLOTILLA_API_UNAVAILABLE',
  refused: 'FLOTILLA_API_REFUSED',
  stopped: 'FLOTILLA_STOPPED',
} as const;

const codeOfStatus: Readonly<Record<number, string>> = {
  401: RuntimeErrorCode.unauthorized,
  403: RuntimeErrorCode.forbidden,
  404: RuntimeErrorCode.notFound,
  409: RuntimeErrorCode.conflict,
  410: RuntimeErrorCode.expired,
  422: RuntimeErrorCode.invalid,
  429: RuntimeErrorCode.throttled,
};

/** A field that a server refused, from `details.causes` of its answer. */
export interface FieldCause {
  /** Path from the top of the object: `status.conditions[0].type`. */
  readonly field: string;
  /** `FieldValueNotSupported`, `FieldValueTooLong` and their like. */
  readonly reason: string;
  readonly message: string;
}

interface ApiErrorDetails {
  /** HTTP status, or 0 when no usable answer came. */
  readonly status: number;
  /** `reason` of the server's Status, such as `AlreadyExists`; empty when it gave none. */
  readonly reason: string;
  /** Message of the server. */
  readonly serverMessage: string;
  /** From the answer's Retry-After, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Fields that the server refused; default none. */
  readonly causes?: readonly FieldCause[];
  /** The answer is none that an API server gives; default false. */
  readonly isForeign?: boolean;
}

/** An API server refused a call, or no usable answer came (`status` 0). */
export class ApiError extends FlotillaError {
  readonly status: number;
  readonly reason: string;
  readonly serverMessage: string;
  readonly retryAfterMs: number | undefined;
  readonly causes: readonly FieldCause[];
  /** Something else than an API server answered. */
  readonly isForeign: boolean;
  constructor(code: string, what: string, details: ApiErrorDetails, options?: { cause?: unknown }) {
    super(code, [what, details.status || undefined, details.reason, details.serverMessage].filter(Boolean).join(': '), options);
    this.status = details.status;
    this.reason = details.reason;
    this.serverMessage = details.serverMessage;
    this.retryAfterMs = details.retryAfterMs;
    this.causes = details.causes ?? [];
    this.isForeign = details.isForeign ?? false;
  }
}

/** The code for a refusal. */
export function codeOf(status: number, reason: string): string {
  if (reason === 'AlreadyExists') return RuntimeErrorCode.alreadyExists;
  if (reason === 'Expired' || reason === 'Gone') return RuntimeErrorCode.expired;
  return codeOfStatus[status] ?? (status >= 500 ? RuntimeErrorCode.unavailable : RuntimeErrorCode.refused);
}

/** No usable answer: time-out, connection lost, too large, not JSON. */
export const transportError = (code: string, what: string, serverMessage: string, cause?: unknown): ApiError =>
  new ApiError(code, what, { status: 0, reason: '', serverMessage }, { cause });

const hasCode = (error: unknown, code: string): boolean => error instanceof FlotillaError && error.code === code;

/** The caller has no right to it, or admission refuses it. */
export const isForbidden = (error: unknown): error is ApiError => hasCode(error, RuntimeErrorCode.forbidden);
/** The object (or the kind) does not exist. A page of something else than an API server does not say so. */
export const isNotFound = (error: unknown): error is ApiError =>
  hasCode(error, RuntimeErrorCode.notFound) && !(error instanceof ApiError && error.isForeign);
/** Somebody else wrote first, or owns the field (server-side apply). */
export const isConflict = (error: unknown): error is ApiError => hasCode(error, RuntimeErrorCode.conflict);
/** An object of that name exists. */
export const isAlreadyExists = (error: unknown): error is ApiError => hasCode(error, RuntimeErrorCode.alreadyExists);
/** 410: the resourceVersion or continue token is too old; list again. */
export const isExpired = (error: unknown): error is ApiError => hasCode(error, RuntimeErrorCode.expired);

/** The object would be larger than the store takes. */
export const isTooLarge = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 413 || /request is too large/i.test(error.serverMessage));

/** The server refuses what is written, by its schema, a rule, an admission, or its size; another content may pass. */
export const isRefusedContent = (error: unknown): error is ApiError =>
  hasCode(error, RuntimeErrorCode.invalid) ||
  isForbidden(error) ||
  isTooLarge(error) ||
  (error instanceof ApiError && error.status === 400);

const UNTRUSTED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The server's certificate was not accepted. */
export const isUntrusted = (error: unknown): boolean =>
  error instanceof ApiError && error.cause instanceof Error && 'code' in error.cause && UNTRUSTED.has(String(error.cause.code));

/** Longest title of a page that is quoted, in characters. */
const MAX_TITLE = 80;

/** Describes an answer that no API server gives, without its text: a redirect, or a page. Undefined for one that may be an API server's. */
export function describeForeign(text: string, status = 200, location = ''): string | undefined {
  if (status >= 300 && status < 400) return `the answer is a redirect${URL.canParse(location) ? ` to ${new URL(location).origin}` : ''}`;
  if (!/^\s*</.test(text)) return undefined;
  const [, title = ''] = /<title>([^<]*)/i.exec(text.slice(0, 4_096)) ?? [];
  const said = title.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TITLE);
  return `the answer is a web page${said === '' ? '' : `: ${said}`}`;
}

const NO_TLS: ReadonlySet<string> = new Set(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** Says why there is no connection, and whether something else than an API server is there. */
export function describeNoConnection(error: unknown): { readonly says: string; readonly isForeign: boolean } {
  if (error instanceof Error && 'code' in error && NO_TLS.has(String(error.code)))
    return { says: 'the server does not speak TLS there', isForeign: true };
  // Node's advice is about Node, which nobody sees who runs a program.
  return { says: errorMessage(error).replace(/; if the root CA is installed locally.*$/, ''), isForeign: false };
}
