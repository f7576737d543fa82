import { FlotillaError } from '@flotilla/api';

/** Codes of this package's errors; the README's table explains each. */
export const RegistryErrorCode = {
  badReference: 'FLOTILLA_REGISTRY_BAD_REFERENCE',
  badCredentials: 'FLOTILLA_REGISTRY_BAD_CREDENTIALS',
  badConfig: 'FLOTILLA_REGISTRY_BAD_CONFIG',
  badManifest: 'FLOTILLA_REGISTRY_BAD_MANIFEST',
  badLayer: 'FLOTILLA_REGISTRY_BAD_LAYER',
  badResponse: 'FLOTILLA_REGISTRY_BAD_RESPONSE',
  badLayout: 'FLOTILLA_REGISTRY_BAD_LAYOUT',
  unauthorized: 'FLOTILLA_REGISTRY_UNAUTHORIZED',
  blocked: 'FLOTILLA_REGISTRY_BLOCKED',
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
  taken: 'FLOTILLA_REGISTRY_TAKEN',
  partlyTagged: 'FLOTILLA_REGISTRY_PARTLY_TAGGED',
} as const;
export type RegistryErrorCode = (typeof RegistryErrorCode)[keyof typeof RegistryErrorCode];

/** Details of a RegistryError. */
export interface RegistryErrorDetails {
  image?: string;
  /** `host[:port]` of the server that answered or did not. */
  host?: string;
  status?: number;
  /** Requested wait of the server (`Retry-After`), in milliseconds. */
  retryAfterMs?: number;
  earlier?: readonly RegistryError[];
  cause?: unknown;
}

/** Failure of a registry, of its content, or of the local layout. `code` is stable; `image` and `host` name the place. */
export class RegistryError extends FlotillaError {
  declare readonly code: RegistryErrorCode;
  readonly image: string | undefined;
  readonly host: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly earlier: readonly RegistryError[];

  constructor(code: RegistryErrorCode, message: string, details: RegistryErrorDetails = {}) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.image = details.image;
    this.host = details.host;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.earlier = details.earlier ?? [];
  }
}

/** True when a retry may succeed: some server failed with a rate limit, a server error or a broken connection. */
export function isTransient(error: unknown): boolean {
  return error instanceof RegistryError && [error, ...error.earlier].some(isPassing);
}

/**
 * True when a server refused the image (401, 403, 404) and no other server may recover. A disconnected node never reaches its source after a mirror's
 * refusal, and that alone looks like a broken link. So unreachable servers do not count.
 */
export function isDenied(error: unknown): boolean {
  if (!(error instanceof RegistryError)) return false;
  const failures = [error, ...error.earlier];
  return failures.some(isRefusal) && failures.every((failure) => !isPassing(failure) || isNeverReached(failure));
}

/** True when a server limits the rate or asks for a wait: the next to ask it waits first. */
export function asksToWait(error: unknown): boolean {
  const { rateLimited } = RegistryErrorCode;
  const isAsking = ({ code, retryAfterMs }: RegistryError): boolean => code === rateLimited || retryAfterMs !== undefined;
  return error instanceof RegistryError && [error, ...error.earlier].some(isAsking);
}

function isPassing({ code }: RegistryError): boolean {
  const { rateLimited, unavailable, unreachable } = RegistryErrorCode;
  return code === rateLimited || code === unavailable || code === unreachable;
}

const isRefusal = ({ code }: RegistryError): boolean => code === RegistryErrorCode.unauthorized || code === RegistryErrorCode.notFound;

/** Codes of the system or undici for a connection that was never established. */
const NO_CONNECTION: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** True when no connection to the server was made. */
export function isNeverReached({ cause }: { cause?: unknown }): boolean {
  // several addresses of one host give one error each
  const failures: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return failures.length > 0 && failures.every((one) => one instanceof Error && 'code' in one && NO_CONNECTION.has(one.code));
}

/** Builds the error of an answer or file with too many bytes. */
export function tooLargeError(what: string, maxBytes: number, details: RegistryErrorDetails = {}): RegistryError {
  return new RegistryError(RegistryErrorCode.tooLarge, `${what} is larger than ${maxBytes} bytes`, details);
}

/** Builds the error of a call that `signal` ended. */
export function abortedError(signal: AbortSignal, details: RegistryErrorDetails = {}): RegistryError {
  return new RegistryError(RegistryErrorCode.aborted, 'stopped before it was complete', { ...details, cause: signal.reason });
}

/** True for the caller's own abort. */
export const isAborted = (error: unknown): boolean => error instanceof RegistryError && error.code === RegistryErrorCode.aborted;

/** Builds the error of content that differs from its digest. */
export function mismatchError(
  what: string,
  { expected, found, image, host }: { expected: string; found: string; image: string; host: string },
): RegistryError {
  const message = `${what} from ${host} has digest ${found}, expected ${expected}`;
  return new RegistryError(RegistryErrorCode.digestMismatch, message, { image, host });
}

/** Refers to a text that is no image's name. */
export const badReferenceName = (text: string): string => `image reference "${text}"`;

/** The sentence on a failure without the image that it begins with, for one who has named it, perhaps in another spelling. */
export function withoutImage(sentence: string, { image }: Pick<RegistryError, 'image'>): string {
  if (image === undefined) return sentence;
  const name = [`${image}: `, `${badReferenceName(image)}: `].find((one) => sentence.startsWith(one)) ?? '';
  return sentence.slice(name.length);
}

/** Adds the other servers' failures to the last one's. Answers come first: a server that nobody reaches says nothing of the image. */
export function withSkipped(error: RegistryError, earlier: readonly RegistryError[]): RegistryError {
  if (earlier.length === 0) return error;
  const { code, image, host, status, cause } = error;
  // A source that nobody reaches brings no image sooner than the mirror that asks for a wait.
  const asked = isNeverReached(error) ? earlier.flatMap(({ retryAfterMs }) => retryAfterMs ?? []) : [];
  const retryAfterMs = error.retryAfterMs ?? (asked.length > 0 ? Math.max(...asked) : undefined);
  const all = [...earlier, error];
  const [first = error, ...others] = [...all.filter((one) => !isNeverReached(one)), ...all.filter(isNeverReached)];
  const rest = others.map((one) => withoutImage(one.message, one)).join('; ');
  return new RegistryError(code, `${first.message}; ${rest.slice(0, 500)}`, { image, host, status, retryAfterMs, earlier, cause });
}

/** Adds the unusable files of a server's certificates to a failure that they may have caused. */
export function withProblems(error: RegistryError, problems: readonly string[] = []): RegistryError {
  const { untrusted, unreachable, unauthorized, badResponse } = RegistryErrorCode;
  const isConcerned = error.code === untrusted || error.code === unreachable || error.code === unauthorized || error.code === badResponse;
  if (problems.length === 0 || !isConcerned) return error;
  const { code, image, host, status, retryAfterMs, earlier, cause } = error;
  const message = `${error.message}; left out: ${problems.join(', ').slice(0, 500)}`;
  return new RegistryError(code, message, { image, host, status, retryAfterMs, earlier, cause });
}
