/** Classes of characters in Go's regular expressions. */

/** Whether one character is meant. */
export type OneOf = (sign: string) => boolean;

/** The classes \d, \s and \w, by their letter. */
export const PERL_CLASSES: Readonly<Record<string, OneOf>> = {
  d: (sign) => /^[0-9]$/.test(sign),
  s: (sign) => /^[\t\n\f\r ]$/.test(sign),
  w: (sign) => /^[0-9A-Za-z_]$/.test(sign),
};
const POSIX: Readonly<Record<string, Pick<RegExp, 'test'>>> = {
  alnum: /^[0-9A-Za-z]$/,
  alpha: /^[A-Za-z]$/,
  ascii: { test: (sign) => sign < '\x80' },
  blank: /^[\t ]$/,
  cntrl: { test: (sign) => sign < ' ' || sign === '\x7f' },
  digit: /^[0-9]$/,
  graph: /^[!-~]$/,
  lower: /^[a-z]$/,
  print: /^[ -~]$/,
  punct: /^[!-/:-@[-`{-~]$/,
  space: /^[\t\n\v\f\r ]$/,
  upper: /^[A-Z]$/,
  word: /^[0-9A-Za-z_]$/,
  xdigit: /^[0-9A-Fa-f]$/,
};
/** Characters that an escape with a letter stands for. */
export const CONTROLS: Readonly<Record<string, string>> = { a: '\x07', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** The class `[:name:]`; undefined when there is none. */
export function posixClass(name: string): OneOf | undefined {
  const posix = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined;
  return posix && ((sign) => posix.test(sign));
}

/** Number of a character. */
export const codeOf = (sign: string): number => sign.codePointAt(0) ?? 0;
/** That character alone. */
export const equal =
  (wanted: string): OneOf =>
  (sign) =>
    sign === wanted;
/** Every other character. */
export const not =
  (is: OneOf): OneOf =>
  (sign) =>
    !is(sign);
/** In either case. */
export const foldCase =
  (is: OneOf): OneOf =>
  (sign) =>
    is(sign) || is(sign.toLowerCase()) || is(sign.toUpperCase());

/** A category, or else a script; undefined when there is none of that name. */
export function unicodeClass(name: string): OneOf | undefined {
  if (name === 'Any') return () => true;
  const source = /^[CLMNPSZ][a-z]?$/.test(name) ? name : `Script=${name}`;
  try {
    const expression = new RegExp(`^\\p{${source}}$`, 'u');
    return (sign) => expression.test(sign);
  } catch {
    return undefined;
  }
}
