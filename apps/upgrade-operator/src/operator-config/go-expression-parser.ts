/** Syntax of Go's regular expressions (RE2): what it accepts is read, everything else is refused with Go's words. */

import { CONTROLS, codeOf, equal, foldCase, not, type OneOf, PERL_CLASSES, posixClass, unicodeClass } from './go-expression-classes.ts';

/** A condition on the place between two characters. */
export type Assertion = 'text-begins' | 'text-ends' | 'line-begins' | 'line-ends' | 'word-boundary' | 'no-word-boundary';

/** An expression, read. */
export type Expression =
  | { readonly kind: 'one'; readonly is: OneOf }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Expression[] }
  | { readonly kind: 'repeat'; readonly part: Expression; readonly least: number; readonly most: number };

/** Why a text is no expression of Go. */
export class GoExpressionError extends Error {}

const MOST_REPEATS = 1000;
const DEEPEST = 1000;

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
}

/** Reads an expression. @throws GoExpressionError */
export function parseGoExpression(text: string): Expression {
  const parser = new Parser(text);
  const expression = parser.alternatives({ i: false, m: false, s: false }, 0);
  if (!parser.isAtEnd) throw new GoExpressionError(`unexpected ): \`${text.slice(0, 100)}\``);
  return expression;
}

class Parser {
  readonly #signs: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#signs = Array.from(text);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#signs.length;
  }

  get #sign(): string | undefined {
    return this.#signs[this.#at];
  }

  #rest(length: number): string {
    return this.#signs.slice(this.#at, this.#at + length).join('');
  }

  #take(text: string): boolean {
    if (this.#rest(text.length) !== text) return false;
    this.#at += text.length;
    return true;
  }

  /** Up to the end or the closing bracket. */
  alternatives(given: Flags, depth: number): Expression {
    if (depth > DEEPEST) throw new GoExpressionError('expression nests too deeply');
    let flags = given;
    const branches: Expression[] = [];
    let parts: Expression[] = [];
    let wasRepeat = false;
    while (!this.isAtEnd && this.#sign !== ')') {
      const isRepeat = this.#repeat(parts, wasRepeat);
      wasRepeat = isRepeat;
      if (isRepeat) continue;
      if (this.#take('|')) {
        branches.push({ kind: 'all', parts });
        parts = [];
      } else if (this.#rest(2) === '(?' && !this.#isNamedGroup()) {
        const next = this.#flags(flags);
        if (next.isGroup) parts.push(this.#group(next.flags, depth));
        else flags = next.flags;
      } else if (this.#take('\\Q')) parts.push(...this.#quoted(flags));
      else parts.push(this.#atom(flags, depth));
    }
    return { kind: 'any', parts: [...branches, { kind: 'all', parts }] };
  }

  /** Reads a repetition operator and applies it to the part before it; false: there is none. */
  #repeat(parts: Expression[], isNested: boolean): boolean {
    const started = this.#at;
    const counts = this.#counts();
    if (!counts) return false;
    this.#take('?');
    const operator = this.#signs.slice(started, this.#at).join('');
    if (isNested) throw new GoExpressionError(`invalid nested repetition operator: \`${operator}\``);
    const part = parts.pop();
    if (!part) throw new GoExpressionError(`missing argument to repetition operator: \`${operator}\``);
    const [least, most] = counts;
    const isTooMuch = Math.max(least, Number.isFinite(most) ? most : 0) > MOST_REPEATS || least > most;
    const repeated: Expression = { kind: 'repeat', part, least, most };
    if (isTooMuch || repeatsOf(repeated) > MOST_REPEATS) throw new GoExpressionError(`invalid repeat count: \`${operator}\``);
    parts.push(repeated);
    return true;
  }

  #counts(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    // Braces that are no count stand for themselves; a count has no leading zero.
    const [all, least = '', comma, most = ''] = /^\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/.exec(this.#rest(32)) ?? [];
    if (all === undefined) return undefined;
    this.#at += all.length;
    return [Number(least), comma === undefined ? Number(least) : most === '' ? Number.POSITIVE_INFINITY : Number(most)];
  }

  #isNamedGroup(): boolean {
    return /^\(\?(P<|<(?![=!]))/.test(this.#rest(4));
  }

  /** `(?i-s)` sets flags for what follows, `(?i:` for a group. */
  #flags(flags: Flags): { readonly flags: Flags; readonly isGroup: boolean } {
    const [all, on = '', off, end] = /^\(\?([imsU]*)(?:-([imsU]+))?([:)])/.exec(this.#rest(24)) ?? [];
    if (all === undefined) throw new GoExpressionError(`invalid or unsupported Perl syntax: \`${this.#rest(4)}\``);
    this.#at += all.length;
    const isSet = (flag: keyof Flags) => (on.includes(flag) || flags[flag]) && !(off ?? '').includes(flag);
    return { flags: { i: isSet('i'), m: isSet('m'), s: isSet('s') }, isGroup: end === ':' };
  }

  #group(flags: Flags, depth: number): Expression {
    const inner = this.alternatives(flags, depth + 1);
    if (!this.#take(')')) throw new GoExpressionError(`missing closing ): \`${this.#signs.slice(0, 100).join('')}\``);
    return inner;
  }

  #quoted({ i }: Flags): Expression[] {
    const found: Expression[] = [];
    while (!this.isAtEnd && !this.#take('\\E')) found.push(one(equal(this.#next()), i));
    return found;
  }

  #next(): string {
    const sign = this.#sign ?? '';
    this.#at++;
    return sign;
  }

  #atom(flags: Flags, depth: number): Expression {
    if (this.#sign === '[') return one(this.#set(flags), false);
    if (this.#sign === '\\') return this.#escaped(flags);
    if (this.#sign === '(') {
      this.#openGroup();
      return this.#group(flags, depth);
    }
    const sign = this.#next();
    if (sign === '.') return one((each) => flags.s || each !== '\n', false);
    if (sign === '^') return { kind: 'assert', what: flags.m ? 'line-begins' : 'text-begins' };
    if (sign === '$') return { kind: 'assert', what: flags.m ? 'line-ends' : 'text-ends' };
    return one(equal(sign), flags.i);
  }

  #openGroup(): void {
    if (!this.#isNamedGroup()) return void this.#next();
    const [all] = /^\(\?P?<[0-9A-Za-z_]+>/.exec(this.#rest(256)) ?? [];
    if (all === undefined) throw new GoExpressionError(`invalid named capture: \`${this.#rest(20)}\``);
    this.#at += all.length;
  }

  #escaped(flags: Flags): Expression {
    const what = ASSERTIONS[this.#rest(2)];
    if (what) {
      this.#at += 2;
      return { kind: 'assert', what };
    }
    const known = this.#classEscape(flags);
    return known ? one(known, false) : one(equal(this.#literalEscape()), flags.i);
  }

  /** `\d`, `\pL`, `\p{Greek}`; undefined when it is none. */
  #classEscape({ i }: Flags): OneOf | undefined {
    const letter = this.#signs[this.#at + 1] ?? '';
    const perl = PERL_CLASSES[letter.toLowerCase()];
    if (perl) {
      this.#at += 2;
      return letter === letter.toLowerCase() ? perl : not(perl);
    }
    if (letter !== 'p' && letter !== 'P') return undefined;
    const [all, braced, short = ''] = /^\\[pP](?:\{(\^?\w+)\}|(\w))/.exec(this.#rest(64)) ?? [];
    const name = braced ?? short;
    const is = all === undefined ? undefined : unicodeClass(name.replace(/^\^/, ''));
    if (all === undefined || !is) throw new GoExpressionError(`invalid character class range: \`${all ?? this.#rest(3)}\``);
    this.#at += all.length;
    const folded = i ? foldCase(is) : is;
    return (letter === 'P') !== name.startsWith('^') ? not(folded) : folded;
  }

  #literalEscape(): string {
    const text = this.#rest(12);
    const [octal] = /^\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(text) ?? [];
    const [hex, long, short] = /^\\x(?:\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2}))/.exec(text) ?? [];
    const letter = this.#signs[this.#at + 1];
    const code = octal ? Number.parseInt(octal.slice(1), 8) : Number.parseInt(long ?? short ?? '', 16);
    if ((octal ?? hex) !== undefined && code <= 0x10ffff) {
      this.#at += (octal ?? hex ?? '').length;
      return String.fromCodePoint(code);
    }
    const isSelf = letter !== undefined && letter < '\x80' && !/[0-9A-Za-z]/.test(letter);
    const control = letter === undefined ? undefined : CONTROLS[letter];
    if (letter === undefined) throw new GoExpressionError('trailing backslash at end of expression: ``');
    if (!isSelf && control === undefined) throw new GoExpressionError(`invalid escape sequence: \`\\${letter}\``);
    this.#at += 2;
    return control ?? letter;
  }

  /** `[a-z]` and what else stands in brackets. */
  #set(flags: Flags): OneOf {
    const started = this.#at++;
    const isNegated = this.#take('^');
    const members: OneOf[] = [];
    for (let isFirst = true; isFirst || this.#sign !== ']'; isFirst = false) {
      if (this.isAtEnd) throw new GoExpressionError(`missing closing ]: \`${this.#signs.slice(started, started + 100).join('')}\``);
      members.push(this.#posixClass() ?? (this.#sign === '\\' ? this.#classEscape(flags) : undefined) ?? this.#range());
    }
    this.#at++;
    const any: OneOf = (sign) => members.some((is) => is(sign));
    const folded = flags.i ? foldCase(any) : any;
    return isNegated ? not(folded) : folded;
  }

  #posixClass(): OneOf | undefined {
    if (this.#rest(2) !== '[:') return undefined;
    const [all, negation, name = ''] = /^\[:(\^?)(\w+):\]/.exec(this.#rest(16)) ?? [];
    if (all === undefined) return undefined;
    const is = posixClass(name);
    if (!is) throw new GoExpressionError(`invalid character class range: \`${all}\``);
    this.#at += all.length;
    return negation ? not(is) : is;
  }

  #range(): OneOf {
    const started = this.#at;
    const low = this.#setSign();
    if (this.#sign !== '-' || (this.#signs[this.#at + 1] ?? ']') === ']') return equal(low);
    this.#at++;
    const high = this.#setSign();
    const [from, to] = [codeOf(low), codeOf(high)];
    if (from > to) throw new GoExpressionError(`invalid character class range: \`${this.#signs.slice(started, this.#at).join('')}\``);
    return (sign) => codeOf(sign) >= from && codeOf(sign) <= to;
  }

  #setSign(): string {
    return this.#sign === '\\' ? this.#literalEscape() : this.#next();
  }
}

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  '\\A': 'text-begins',
  '\\z': 'text-ends',
  '\\b': 'word-boundary',
  '\\B': 'no-word-boundary',
};

const one = (is: OneOf, folds: boolean): Expression => ({ kind: 'one', is: folds ? foldCase(is) : is });

/** The most repetitions of an innermost part by counts; stars count once. */
function repeatsOf(expression: Expression): number {
  if (expression.kind === 'one' || expression.kind === 'assert') return 1;
  if (expression.kind !== 'repeat') return Math.max(1, ...expression.parts.map(repeatsOf));
  const { least, most, part } = expression;
  return Math.max(1, Number.isFinite(most) ? most : least) * repeatsOf(part);
}
