/** Signs that are not seen, turn the direction of writing, or move what follows. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Longest text that a line shows; the whole is in the object. */
const MOST = 600;

/** A text that a cluster may have written, with everything escaped that is more than a letter, as the command line shows it. */
export function safeText(text: string): string {
  const shown = text.replaceAll(UNSEEN, (sign) =>
    sign === '\n' || sign === '\t' ? ' ' : `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
  return shown.length > MOST ? `${shown.slice(0, MOST - 1)}…` : shown;
}
