/** Matches a text against a parsed pattern. */
type NamePattern = (text: string) => boolean;

type OneOf = (sign: string) => boolean;
/** Matches one character; `*` matches any number. */
type Token = '*' | OneOf;

/**
 * Parses a pattern of names as Go's `path.Match` does: `*` and `?` for anything but a slash, `[a-z]` and `[^a-z]`, `\` before a literal. Undefined
 * for a malformed pattern. The matcher's time is linear in text × pattern for any input.
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

/** Reads characters and ranges up to the closing bracket. Undefined without one, or for a range without an end or in reverse. */
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

/** Reads one end of a range. A dash and a closing bracket are literals only after a `\`. */
function readEnd(signs: readonly string[], at: number): { readonly sign: string; readonly next: number } | undefined {
  const isEscaped = signs[at] === '\\';
  const sign = signs[isEscaped ? at + 1 : at];
  if (sign === undefined || (!isEscaped && (sign === '-' || sign === ']'))) return undefined;
  return { sign, next: at + (isEscaped ? 2 : 1) };
}

/** Backtracks only to the last `*`: everything before it matched as early as possible. */
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
