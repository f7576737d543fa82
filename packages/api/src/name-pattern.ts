/** Whether a text matches the pattern that was read. */
type NamePattern = (text: string) => boolean;

type OneOf = (sign: string) => boolean;
/** What matches one character, or any number of them. */
type Token = '*' | OneOf;

/**
 * Reads a pattern of names as Go's `path.Match` does: `*` and `?` for anything but a slash, `[a-z]` and `[^a-z]`, `\` before what stands for
 * itself. Undefined when it is malformed. What it gives takes time linear in text × pattern, whatever either is.
 */
export function readNamePattern(pattern: string): NamePattern | undefined {
  const signs = Array.from(pattern);
  const tokens: Token[] = [];
  for (let at = 0; at < signs.length; ) {
    const read = readToken(signs, at);
    if (!read) return undefined;
    tokens.push(read.token);
    at = read.next;
  }
  return (text) => matches(tokens, Array.from(text));
}

const isNoSlash: OneOf = (sign) => sign !== '/';

function readToken(signs: readonly string[], at: number): { readonly token: Token; readonly next: number } | undefined {
  const sign = signs[at];
  if (sign === '*') return { token: '*', next: at + 1 };
  if (sign === '?') return { token: isNoSlash, next: at + 1 };
  if (sign === '[') return readSet(signs, at + 1);
  const literal = sign === '\\' ? signs[at + 1] : sign;
  return literal === undefined ? undefined : { token: (one) => one === literal, next: at + (sign === '\\' ? 2 : 1) };
}

/** Characters and ranges up to the closing bracket; undefined when there is none, or a range lacks an end or runs backwards. */
function readSet(signs: readonly string[], start: number): { readonly token: OneOf; readonly next: number } | undefined {
  const isNegated = signs[start] === '^';
  const ranges: (readonly [string, string])[] = [];
  let at = isNegated ? start + 1 : start;
  while (ranges.length === 0 || signs[at] !== ']') {
    const from = readEnd(signs, at);
    const to = from && signs[from.next] === '-' ? readEnd(signs, from.next + 1) : from;
    if (!from || !to || to.sign < from.sign) return undefined;
    ranges.push([from.sign, to.sign]);
    at = to.next;
  }
  return { token: (one) => ranges.some(([from, to]) => from <= one && one <= to) !== isNegated, next: at + 1 };
}

/** One end of a range. A dash and a closing bracket stand for themselves behind a `\` alone. */
function readEnd(signs: readonly string[], at: number): { readonly sign: string; readonly next: number } | undefined {
  const isEscaped = signs[at] === '\\';
  const sign = signs[isEscaped ? at + 1 : at];
  if (sign === undefined || (!isEscaped && (sign === '-' || sign === ']'))) return undefined;
  return { sign, next: at + (isEscaped ? 2 : 1) };
}

/** Only the last `*` is ever made longer: what came before it matched as early as it can. */
function matches(tokens: readonly Token[], text: readonly string[]): boolean {
  let [at, token] = [0, 0];
  let star: { readonly token: number; at: number } | undefined;
  for (;;) {
    const [current, sign] = [tokens[token], text[at]];
    if (current === '*') {
      token += 1;
      star = { token, at };
    } else if (sign !== undefined && current?.(sign)) [at, token] = [at + 1, token + 1];
    else if (sign === undefined && current === undefined) return true;
    else {
      const swallowed = star && text[star.at];
      if (!star || swallowed === undefined || !isNoSlash(swallowed)) return false;
      star.at += 1;
      [at, token] = [star.at, star.token];
    }
  }
}
