/** Go's regular expressions in linear time: what administrators write for the reference means the same here, and takes no longer. */
import { PERL_CLASSES } from './go-expression-classes.ts';
import { type Assertion, type Expression, GoExpressionError, parseGoExpression } from './go-expression-parser.ts';

/** A regular expression of Go. Tests in time linear in text times expression, whatever either is. */
export interface GoExpression {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

/** The next thing that a thread of the search does. */
type State =
  | { readonly kind: 'one'; readonly is: (sign: string) => boolean; readonly next: number }
  | { readonly kind: 'assert'; readonly what: Assertion; readonly next: number }
  | { readonly kind: 'fork'; readonly next: readonly number[] }
  | { readonly kind: 'match' };

/** More than this is nobody's pattern of namespaces; each character of a text passes all of them. */
const MOST_STATES = 10_000;

/** Reads an expression; a text says why it is none. */
export function readGoExpression(text: string): GoExpression | string {
  try {
    const states: State[] = [{ kind: 'match' }];
    const start = compile(parseGoExpression(text), 0, states);
    return { test: (given) => search(states, start, Array.from(given)) };
  } catch (error) {
    if (error instanceof GoExpressionError) return error.message;
    throw error;
  }
}

/** Adds the states of an expression that goes on with `next`, and returns where it begins. */
function compile(expression: Expression, next: number, states: State[]): number {
  const add = (state: State): number => {
    if (states.length >= MOST_STATES) throw new GoExpressionError('expression is too large');
    return states.push(state) - 1;
  };
  switch (expression.kind) {
    case 'one':
      return add({ kind: 'one', is: expression.is, next });
    case 'assert':
      return add({ kind: 'assert', what: expression.what, next });
    case 'all':
      return expression.parts.reduceRight((after, part) => compile(part, after, states), next);
    case 'any':
      return add({ kind: 'fork', next: expression.parts.map((part) => compile(part, next, states)) });
    case 'repeat':
      return compileRepeat(expression, next, { states, add });
  }
}

function compileRepeat(
  { part, least, most }: Extract<Expression, { kind: 'repeat' }>,
  next: number,
  { states, add }: { readonly states: State[]; readonly add: (state: State) => number },
): number {
  let at = next;
  if (Number.isFinite(most))
    for (let left = most - least; left > 0; left--) at = add({ kind: 'fork', next: [compile(part, at, states), next] });
  else {
    const ways = [next];
    at = add({ kind: 'fork', next: ways });
    ways.unshift(compile(part, at, states));
  }
  for (let left = least; left > 0; left--) at = compile(part, at, states);
  return at;
}

/** Follows all ways at once, so that none is gone twice. */
function search(states: readonly State[], start: number, signs: readonly string[]): boolean {
  let waiting = new Set<number>();
  for (let at = 0; ; at++) {
    const reached = reach(states, [...waiting, start], { signs, at });
    if (reached === 'match') return true;
    const sign = signs[at];
    if (sign === undefined) return false;
    waiting = new Set();
    for (const index of reached) {
      const state = states[index];
      if (state?.kind === 'one' && state.is(sign)) waiting.add(state.next);
    }
  }
}

interface Place {
  readonly signs: readonly string[];
  readonly at: number;
}

/** Every state that can be come to without a character. */
function reach(states: readonly State[], from: readonly number[], place: Place): ReadonlySet<number> | 'match' {
  const reached = new Set<number>();
  const open = [...from];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    const state = states[index];
    if (!state || reached.has(index)) continue;
    reached.add(index);
    if (state.kind === 'match') return 'match';
    if (state.kind === 'fork') open.push(...state.next);
    if (state.kind === 'assert' && holds(state.what, place)) open.push(state.next);
  }
  return reached;
}

function holds(what: Assertion, { signs, at }: Place): boolean {
  const [before, after] = [signs[at - 1], signs[at]];
  const isWord = (sign: string | undefined) => sign !== undefined && PERL_CLASSES.w?.(sign) === true;
  switch (what) {
    case 'text-begins':
      return before === undefined;
    case 'text-ends':
      return after === undefined;
    case 'line-begins':
      return before === undefined || before === '\n';
    case 'line-ends':
      return after === undefined || after === '\n';
    case 'word-boundary':
      return isWord(before) !== isWord(after);
    case 'no-word-boundary':
      return isWord(before) === isWord(after);
  }
}
