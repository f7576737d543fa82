/** Everything that the command prints goes out here, but for what is for programs alone, such as objects and scripts of completion. */
import { readTerminal } from '../config.ts';
import { safeJson } from './safe-text.ts';

/** Writes for a person to standard output. */
export const writeOut = (text: string): void => writeTo(process.stdout, text);

/** Writes for a person to standard error. */
export const writeErr = (text: string): void => writeTo(process.stderr, text);

/** Writes an answer for a program to standard output, on a line, the same wherever it goes. */
export const writeJson = (answer: unknown): void => void process.stdout.write(`${safeJson(answer)}\n`);

/** Writes for a person: a terminal whose locale has no UTF-8 gets ASCII, a pipe the same bytes in every locale. */
export function writeTo(
  stream: { readonly isTTY?: boolean; write(text: string): unknown },
  text: string,
  { hasUtf8 }: { readonly hasUtf8: boolean } = readTerminal(),
): void {
  stream.write(stream.isTTY && !hasUtf8 ? toAscii(text) : text);
}

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
