/** An error with a stable code that callers can act on, even across process boundaries. */
export class FlotillaError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The input is wrong and a retry is useless: it becomes a condition. */
export class TerminalError extends FlotillaError {}

/** Something else has to happen first, so it is no failure. Retry after `retryAfterMs`. */
export class WaitingError extends FlotillaError {
  readonly retryAfterMs: number;
  constructor(code: string, message: string, retryAfterMs: number) {
    super(code, message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** White space and what moves a cursor, is not seen or turns the direction of writing. */
const NO_LETTERS = /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Formats any thrown value with its causes, on one line, as plain letters and at most 1 KiB. */
export function errorMessage(error: unknown): string {
  const parts: string[] = [];
  for (let e: unknown = error; e !== undefined && e !== null && parts.length < 4; e = e instanceof Error ? e.cause : undefined) {
    const text = e instanceof Error ? e.message : typeof e === 'string' ? e : JSON.stringify(e);
    if (text && !parts.some((part) => part.includes(text))) parts.push(text);
  }
  return parts.join(': ').replaceAll(NO_LETTERS, ' ').slice(0, 1024);
}
