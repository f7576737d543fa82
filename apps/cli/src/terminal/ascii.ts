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
export const toAscii = (text: string): string => text.replaceAll(SIGN, (sign) => SIGNS[sign.trimEnd()] ?? sign);
