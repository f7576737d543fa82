/**
 * Control characters, marks that are not seen or turn the direction of writing, and separators of lines: what a spoke wrote must not move the
 * cursor, colour what follows, or look like another line.
 */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with everything escaped that is more than a letter on the screen. */
export const safeText = (text: string): string =>
  text.replaceAll(CONTROLS, (sign) =>
    sign === '\n' || sign === '\t' ? ' ' : `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );

/** A value as JSON on one line, in which nothing moves the cursor either: parsers read the escapes as the signs that they stand for. */
export const safeJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(CONTROLS, (sign) =>
    sign
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
