/** Signs that are not seen, turn the direction of writing, or move what follows. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Longest text that is shown: that of a failure has less, with the cluster's name. */
const MOST = 1_600;

/** Signs that divide lines and fields of a file. */
const DIVIDES = /[\n\t]/;

/** The text with those signs as JSON writes them. Line ends and tabs stay. */
export const escapeUnseen = (text: string): string =>
  text.replaceAll(UNSEEN, (sign) =>
    DIVIDES.test(sign)
      ? sign
      : sign
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join(''),
  );

/** A text that a cluster may have written, with everything escaped that is more than a letter, as the command line shows it. */
export function safeText(text: string): string {
  const shown = escapeUnseen(text.replaceAll(/[\n\t]/g, ' '));
  return shown.length > MOST ? `${shown.slice(0, MOST - 1)}…` : shown;
}
