import { type Cursor, FoldedText, indentOf, UncommonYaml, withoutEndBlanks } from './cursor.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\u0085',
  _: '\u00a0',
  L: '\u2028',
  P: '\u2029',
};

/** Reads a quoted scalar at the cursor. It ends with its quote, however its lines are indented, as Go's reader takes it. */
export function readQuoted(cursor: Cursor): string {
  const isDouble = cursor.text.charAt(cursor.column) === '"';
  cursor.column++;
  const parts: string[] = [];
  for (let end = -1; end < 0; ) {
    const rest = cursor.rest;
    end = endOfQuoted(rest, isDouble);
    parts.push(end < 0 ? rest : rest.slice(0, end));
    if (end >= 0) cursor.column += end + 1;
    else if (++cursor.line >= cursor.lines.length) throw new UncommonYaml('a quoted scalar without an end');
    else cursor.column = 0;
  }
  return isDouble ? foldDouble(parts) : foldSingle(parts);
}

/** Index of the quote that ends the scalar, or -1. */
function endOfQuoted(text: string, isDouble: boolean): number {
  const quote = isDouble ? 0x22 : 0x27;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isDouble && code === 0x5c) at++;
    else if (code === quote) {
      if (isDouble || text.charCodeAt(at + 1) !== quote) return at;
      at++;
    }
  }
  return -1;
}

/** Blanks around a break belong to nothing. */
const between = (part: string, index: number, { length }: readonly string[]): string => {
  const begun = index === 0 ? part : part.replace(/^[ \t]+/, '');
  return index === length - 1 ? begun : withoutEndBlanks(begun);
};

function foldSingle(parts: readonly string[]): string {
  const [first = '', ...more] = parts.map(between);
  const text = new FoldedText(first);
  for (const part of more) text.add(part);
  return text.end().replaceAll("''", "'");
}

function foldDouble(parts: readonly string[]): string {
  if (parts.length === 1) return unescapeDouble(parts[0] ?? '');
  if (parts.some((part) => /\\[ \t]+$/.test(part))) throw new UncommonYaml('an escaped blank before a break');
  const lines = parts.map(between).map((part, index) => {
    const isGlued = index < parts.length - 1 && /^(?:[^\\]|\\.)*\\$/.test(part);
    return { text: unescapeDouble(isGlued ? part.slice(0, -1) : part), isGlued };
  });
  const text = new FoldedText(lines[0]?.text ?? '');
  for (const [before, { text: part }] of lines.slice(1).entries()) text.add(part, lines[before]?.isGlued);
  return text.end();
}

const unescapeDouble = (text: string): string => (text.includes('\\') ? text.replaceAll(/\\(x..|u.{4}|U.{8}|.?)/g, unescapeOne) : text);

function unescapeOne(_: string, letters: string): string {
  const known = ESCAPES[letters];
  if (known !== undefined) return known;
  const digits = /^[xuU]([0-9a-fA-F]+)$/.exec(letters)?.[1];
  const code = digits === undefined ? Number.NaN : Number.parseInt(digits, 16);
  // half a pair is no character
  if (Number.isNaN(code) || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw new UncommonYaml('an escape that is none');
  return String.fromCodePoint(code);
}

const COMMENT = /[ \t]#/;

/**
 * Reads an unquoted scalar at the cursor, with the lines that go on with it: those indented deeper than `parent`. The cursor stands on the
 * line behind it.
 */
export function readPlain(cursor: Cursor, parent: number): string {
  const [first, isEnded] = plainPart(cursor.rest);
  cursor.line++;
  cursor.column = 0;
  const text = new FoldedText(first);
  if (isEnded) return first;
  for (;;) {
    const from = cursor.line;
    while (!cursor.isAtEnd && indentOf(cursor.text) < 0) cursor.line++;
    const indent = indentOf(cursor.text);
    const part = indent <= parent ? '' : cursor.text.slice(indent);
    if (cursor.isAtEnd || part === '' || part.startsWith('#')) {
      // blank lines at its end are not part of it
      cursor.line = from;
      return text.end();
    }
    for (let blank = from; blank < cursor.line; blank++) text.add('');
    const [line, isLast] = plainPart(part);
    text.add(line);
    cursor.line++;
    if (isLast) return text.end();
  }
}

/** What belongs to a plain scalar on a line, and whether a comment ends it. */
function plainPart(text: string): [part: string, isEnded: boolean] {
  const comment = text.search(COMMENT);
  const part = withoutEndBlanks(comment < 0 ? text : text.slice(0, comment));
  if (/:(?:[ \t]|$)/.test(part)) throw new UncommonYaml('a key within a plain scalar');
  return [part, comment >= 0];
}

/** Reads a literal (`|`) or folded (`>`) scalar at the cursor, whose lines are indented deeper than `parent`. */
export function readBlockScalar(cursor: Cursor, parent: number): string {
  const header = /^([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?(?:[ \t]+#.*|[ \t]*)$/.exec(cursor.rest);
  if (!header) throw new UncommonYaml('the header of a block scalar');
  const chomping = header[2] ?? header[5];
  const given = header[3] ?? header[4];
  cursor.line++;
  cursor.column = 0;
  const indent = given === undefined ? detectIndent(cursor, parent) : Math.max(parent, 0) + Number(given);
  const lines: string[] = [];
  for (; !cursor.isAtEnd; cursor.line++) {
    const line = cursor.text;
    const blanks = leadingBlanks(line);
    if (blanks < indent && blanks < line.length) break;
    lines.push(line.slice(indent));
  }
  // the text ends with a break, which is no line of its own
  if (cursor.isAtEnd && lines.at(-1) === '') lines.pop();
  return chomp(lines, chomping, header[1] === '>');
}

function detectIndent(cursor: Cursor, parent: number): number {
  let [most, found] = [0, 0];
  for (let line = cursor.line; line < cursor.lines.length; line++) {
    const text = cursor.lines[line] ?? '';
    found = leadingBlanks(text);
    if (found < text.length) break;
    most = Math.max(most, found);
  }
  if (most > found) throw new UncommonYaml('a blank line that is indented deeper than the text');
  return Math.max(found, parent + 1, 1);
}

function leadingBlanks(line: string): number {
  let at = 0;
  while (line.charCodeAt(at) === 0x20) at++;
  return at;
}

function chomp(lines: readonly string[], chomping: string | undefined, isFolded: boolean): string {
  let end = lines.length;
  while (end > 0 && lines[end - 1] === '') end--;
  const content = lines.slice(0, end);
  const text = isFolded ? foldBlock(content) : content.join('\n');
  if (chomping === '-') return text;
  if (chomping === '+') return text + '\n'.repeat(lines.length - end + (end > 0 ? 1 : 0));
  return end > 0 ? `${text}\n` : '';
}

/** Breaks between lines become blanks; those around lines that begin with a blank stay. */
function foldBlock(lines: readonly string[]): string {
  let [text, empty, isKept, isBegun] = ['', 0, true, false];
  for (const line of lines) {
    if (line === '') {
      empty++;
      continue;
    }
    const isDeeper = line.startsWith(' ') || line.startsWith('\t');
    if (!isBegun) text += '\n'.repeat(empty);
    else if (isKept || isDeeper) text += '\n'.repeat(empty + 1);
    else text += empty === 0 ? ' ' : '\n'.repeat(empty);
    text += line;
    [empty, isKept, isBegun] = [0, isDeeper, true];
  }
  return text;
}
