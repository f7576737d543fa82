/** Everything that the command prints goes out here, but for what is for programs alone, such as objects and scripts of completion. */
import { readTerminal } from '../config.ts';
import { safeJson } from './safe-text.ts';

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
