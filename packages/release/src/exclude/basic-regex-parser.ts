/** A place in the line that must hold; consumes nothing. */
export type Assertion = 'start' | 'end' | 'word-start' | 'word-end' | 'word-edge' | 'not-word-edge';

/** A parsed expression. */
export type Node =
  | { readonly kind: 'char'; readonly matches: (char: string) => boolean }
  | { readonly kind: 'assert'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly nodes: readonly Node[] }
  | { readonly kind: 'either'; readonly nodes: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number | undefined };

interface Cursor {
  readonly chars: readonly string[];
  at: number;
  depth: number;
}

/** POSIX RE_DUP_MAX as GNU has it is 32767; a line is never that long here. */
const MAX_COUNT = 1_000;
const MAX_DEPTH = 100;

const isWord = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}_]/u.test(char);
const isSpace = (char: string): boolean => /\s/.test(char);

/** True when an assertion holds before character `at` of the line. */
export function assertionHolds(assertion: Assertion, chars: readonly string[], at: number): boolean {
  const before = isWord(chars[at - 1]);
  const after = isWord(chars[at]);
  switch (assertion) {
    case 'start':
      return at === 0;
    case 'end':
      return at === chars.length;
    case 'word-start':
      return !before && after;
    case 'word-end':
      return before && !after;
    case 'word-edge':
      return before !== after;
    case 'not-word-edge':
      return before === after;
  }
}

/** Parses a POSIX basic regular expression with GNU's additions. @throws Error saying what is wrong */
export function parseBasicRegex(source: string): Node {
  const cursor: Cursor = { chars: Array.from(source), at: 0, depth: 0 };
  const node = parseEither(cursor);
  if (cursor.at < cursor.chars.length) throw new Error('has \\) without \\(');
  return node;
}

const literal = (wanted: string): Node => ({ kind: 'char', matches: (char) => char === wanted });
const looksAt = (cursor: Cursor, text: string): boolean => cursor.chars.slice(cursor.at, cursor.at + text.length).join('') === text;

function parseEither(cursor: Cursor): Node {
  const nodes = [parseSequence(cursor)];
  while (looksAt(cursor, '\\|')) {
    cursor.at += 2;
    nodes.push(parseSequence(cursor));
  }
  const [only] = nodes;
  return nodes.length === 1 && only ? only : { kind: 'either', nodes };
}

function parseSequence(cursor: Cursor): Node {
  const nodes: Node[] = [];
  while (cursor.at < cursor.chars.length && !looksAt(cursor, '\\|') && !looksAt(cursor, '\\)')) {
    // `*` is itself at the start of an expression and after ^
    const leading = nodes.every((node) => node.kind === 'assert' && node.assertion === 'start');
    const atom = parseAtom(cursor, nodes.length === 0, leading);
    nodes.push(atom.kind === 'assert' ? atom : parseRepeats(cursor, atom));
  }
  return { kind: 'sequence', nodes };
}

function parseAtom(cursor: Cursor, first: boolean, leading: boolean): Node {
  const char = cursor.chars[cursor.at++] ?? '';
  if (char === '\\') return parseEscape(cursor, leading);
  if (char === '[') return parseBracket(cursor);
  if (char === '.') return { kind: 'char', matches: () => true };
  if (char === '^' && first) return { kind: 'assert', assertion: 'start' };
  if (char === '$' && (cursor.at === cursor.chars.length || looksAt(cursor, '\\|') || looksAt(cursor, '\\)')))
    return { kind: 'assert', assertion: 'end' };
  return literal(char);
}

const assertions = new Map<string, Assertion>([
  ['<', 'word-start'],
  ['>', 'word-end'],
  ['b', 'word-edge'],
  ['B', 'not-word-edge'],
  ['`', 'start'],
  ["'", 'end'],
]);
const classes = new Map<string, (char: string) => boolean>([
  ['w', isWord],
  ['W', (char) => !isWord(char)],
  ['s', isSpace],
  ['S', (char) => !isSpace(char)],
]);

function parseEscape(cursor: Cursor, leading: boolean): Node {
  const char = cursor.chars[cursor.at++];
  if (char === undefined) throw new Error('ends with a backslash');
  if (char === '(') return parseGroup(cursor);
  if (/[1-9]/.test(char)) throw new Error(`has the back-reference \\${char}, which is not supported`);
  if (char === '{' && !leading) throw new Error('has \\{ after nothing that can be repeated');
  const assertion = assertions.get(char);
  if (assertion) return { kind: 'assert', assertion };
  const matches = classes.get(char);
  return matches ? { kind: 'char', matches } : literal(char);
}

function parseGroup(cursor: Cursor): Node {
  if (++cursor.depth > MAX_DEPTH) throw new Error(`nests deeper than ${MAX_DEPTH} groups`);
  const node = parseEither(cursor);
  if (!looksAt(cursor, '\\)')) throw new Error('has \\( without \\)');
  cursor.at += 2;
  cursor.depth--;
  return node;
}

function parseRepeats(cursor: Cursor, atom: Node): Node {
  let node = atom;
  for (let count = parseCount(cursor); count; count = parseCount(cursor)) {
    // x** is x*: repeating a repetition would only multiply states
    const same = node.kind === 'repeat' && node.max === undefined && count.max === undefined && count.min <= 1 && node.min <= 1;
    node = same && node.kind === 'repeat' ? { ...node, min: Math.min(node.min, count.min) } : { kind: 'repeat', node, ...count };
  }
  return node;
}

function parseCount(cursor: Cursor): { min: number; max: number | undefined } | undefined {
  if (looksAt(cursor, '*')) return advance(cursor, 1, { min: 0, max: undefined });
  if (looksAt(cursor, '\\+')) return advance(cursor, 2, { min: 1, max: undefined });
  if (looksAt(cursor, '\\?')) return advance(cursor, 2, { min: 0, max: 1 });
  if (!looksAt(cursor, '\\{')) return undefined;
  const rest = cursor.chars.slice(cursor.at, cursor.at + 20).join('');
  const found = /^\\\{(\d*)(,?)(\d*)\\\}/.exec(rest);
  if (!found || (found[1] === '' && found[2] === '')) throw new Error('has \\{ without a count such as \\{1,3\\}');
  const min = Number(found[1] || 0);
  const max = found[2] === '' ? min : found[3] === '' ? undefined : Number(found[3]);
  if (min > MAX_COUNT || (max ?? 0) > MAX_COUNT) throw new Error(`repeats more than ${MAX_COUNT} times`);
  if (max !== undefined && max < min) throw new Error(`has the count ${found[0]} with its ends swapped`);
  return advance(cursor, found[0].length, { min, max });
}

function advance<T>(cursor: Cursor, by: number, value: T): T {
  cursor.at += by;
  return value;
}

const namedClasses: Readonly<Record<string, RegExp>> = {
  alpha: /\p{L}/u,
  digit: /[0-9]/,
  alnum: /[\p{L}\p{N}]/u,
  upper: /\p{Lu}/u,
  lower: /\p{Ll}/u,
  space: /\s/,
  blank: /[ \t]/,
  punct: /[!-/:-@[-`{-~]/,
  xdigit: /[0-9A-Fa-f]/,
  cntrl: /\p{Cc}/u,
  print: /[^\p{Cc}]/u,
  graph: /[^\p{Cc}\s]/u,
};

/** `[...]`; a backslash is itself inside. */
function parseBracket(cursor: Cursor): Node {
  const negated = looksAt(cursor, '^');
  if (negated) cursor.at++;
  const tests: ((char: string) => boolean)[] = [];
  for (let first = true; first || !looksAt(cursor, ']'); first = false) {
    if (cursor.at >= cursor.chars.length) throw new Error('has [ without ]');
    tests.push(looksAt(cursor, '[:') ? parseNamedClass(cursor) : parseRange(cursor));
  }
  cursor.at++;
  return { kind: 'char', matches: (char) => tests.some((test) => test(char)) !== negated };
}

function parseNamedClass(cursor: Cursor): (char: string) => boolean {
  const found = /^\[:([a-z]{1,10}):\]/.exec(cursor.chars.slice(cursor.at, cursor.at + 14).join(''));
  const known = found?.[1] !== undefined && Object.hasOwn(namedClasses, found[1]) ? namedClasses[found[1]] : undefined;
  if (!found || !known) throw new Error(`has an unknown character class; known are ${Object.keys(namedClasses).join(', ')}`);
  cursor.at += found[0].length;
  return (char) => known.test(char);
}

function parseRange(cursor: Cursor): (char: string) => boolean {
  if (looksAt(cursor, '[.') || looksAt(cursor, '[=')) throw new Error('has a collating element ([. .] or [= =]), which is not supported');
  const from = cursor.chars[cursor.at++] ?? '';
  const to = cursor.chars[cursor.at + 1];
  if (!looksAt(cursor, '-') || to === undefined || to === ']') return (char) => char === from;
  cursor.at += 2;
  const [low, high] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
  if (high < low) throw new Error(`has the range ${from}-${to} with its ends swapped`);
  return (char) => {
    const point = char.codePointAt(0) ?? 0;
    return point >= low && point <= high;
  };
}
