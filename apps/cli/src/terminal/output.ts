import { readTerminal } from '../config.ts';

/** Everything that the command prints goes out here, but for what is for programs alone, such as objects and scripts of completion. */

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

/** A standard stream, as far as it is written to. */
interface Stream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Writes for a person to standard output: a terminal whose locale has no UTF-8 gets ASCII, a pipe the same bytes in every locale. */
export function writeOut(
  text: string,
  stream: Stream = process.stdout,
  { hasUtf8 }: Pick<ReturnType<typeof readTerminal>, 'hasUtf8'> = readTerminal(),
): void {
  stream.write(stream.isTTY && !hasUtf8 ? toAscii(text) : text);
}

/** Writes for a person to standard error. */
export const writeErr = (text: string): void => writeOut(text, process.stderr);

/** Writes an answer for a program to standard output, on a line, the same wherever it goes. */
export const writeJson = (answer: unknown): void => void process.stdout.write(`${safeJson(answer)}\n`);

/** ASCII in place of signs that our texts use, in as many cells as they take there; letters of other scripts stay. */
const SIGNS: Readonly<Record<string, string>> = {
  '└': '`',
  '│': '|',
  '─': '-',
  '█': '#',
  '░': '.',
  '•': '*',
  '·': '.',
  '→': '->',
  '≤': '<=',
  '≥': '>=',
  '–': '-',
  '—': '-',
  '“': '"',
  '”': '"',
  '‘': "'",
  '’': "'",
  '×': 'x',
  '…': '...',
};

/** A sign, with blanks behind it that its longer substitute takes the place of: `≤ ` of a figure, and the gap of a table behind a cell that was cut. */
const SIGN = /…(?: {2}(?= ))?|≤ ?|[└│─█░•·→≥–—“”‘’×]/gu;

/** The text for a terminal that shows ASCII alone. */
const toAscii = (text: string): string => text.replaceAll(SIGN, (sign) => SIGNS[sign.trimEnd()] ?? sign);

/** Where results go, and how they may look there. */
export interface Screen {
  /** A person looks at it. */
  readonly isTerminal: boolean;
  /** Columns to fit into; undefined where nothing is to be cut. */
  readonly width: number | undefined;
  readonly hasColor: boolean;
  readonly write: (text: string) => void;
}

/** Columns of a terminal that does not say how many it has. */
const USUAL_COLUMNS = 80;
/** Cells that three dots take beyond the sign for which they stand, at the end of a line that was cut. */
const DOTS_TAKE = 2;

/** Standard output. @param isWide nothing is cut, as with `-o wide` */
export function standardScreen(isWide = false): Screen {
  const { stdout } = process;
  const { noColor, columns, hasUtf8 } = readTerminal();
  const isTerminal = stdout.isTTY === true;
  return {
    isTerminal,
    width: isTerminal && !isWide ? (columns || stdout.columns || USUAL_COLUMNS) - (hasUtf8 ? 0 : DOTS_TAKE) : undefined,
    hasColor: isTerminal && !noColor,
    write: writeOut,
  };
}

const colors = { good: 32, bad: 31, late: 33, faint: 2 } as const;

/** The text in a colour, where there are any. A colour never says more than the words do. */
export const tinted = (screen: Pick<Screen, 'hasColor'>, color: keyof typeof colors, text: string): string =>
  screen.hasColor ? `\u001b[${colors[color]}m${text}\u001b[0m` : text;

/** Begins the next picture where the last one began. */
export const HOME = '\u001b[H\u001b[2J';
