import { type Assertion, assertionHolds, type Node, parseBasicRegex } from './basic-regex-parser.ts';

/** States of one compiled expression, so that no count blows up memory or time. */
const MAX_STATES = 2_000;

type State =
  | { readonly kind: 'char'; readonly matches: (char: string) => boolean; readonly next: number }
  | { readonly kind: 'split'; next: number; readonly other: number }
  | { readonly kind: 'assert'; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: 'match' };

interface BasicRegex {
  /** States of the automaton: the bound on the work per character. */
  readonly size: number;
  /** Looks for a match anywhere in the line. Work is at most states x characters, whatever the expression. */
  test(line: string): boolean;
}

/**
 * Compiles a POSIX basic regular expression with GNU's additions (`\+`, `\?`, `\|`, `\w`, `\<`, …) as `grep -G` reads it.
 * Runs as a simulated automaton, not as a JavaScript RegExp: no expression can make it backtrack for ever.
 * @throws Error saying what is wrong with the expression; back-references are not supported
 */
export function compileBasicRegex(source: string): BasicRegex {
  const automaton = new Automaton();
  const start = automaton.build(parseBasicRegex(source), automaton.add({ kind: 'match' }));
  return { size: automaton.states.length, test: (line) => run(automaton.states, start, line) };
}

class Automaton {
  readonly states: State[] = [];
  #steps = 0;

  add(state: State): number {
    return this.states.push(state) - 1;
  }

  /** Adds the states of a node in front of `next`, back to front; returns where the node starts. */
  build(node: Node, next: number): number {
    // steps, not states alone: a repeated empty group adds none
    if (++this.#steps > MAX_STATES) throw new Error(`is too large (more than ${MAX_STATES} states); use smaller \\{m,n\\} counts`);
    switch (node.kind) {
      case 'char':
        return this.add({ kind: 'char', matches: node.matches, next });
      case 'assert':
        return this.add({ kind: 'assert', assertion: node.assertion, next });
      case 'sequence':
        return node.nodes.reduceRight((after, part) => this.build(part, after), next);
      case 'either':
        return node.nodes.map((part) => this.build(part, next)).reduceRight((other, one) => this.add({ kind: 'split', next: one, other }));
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #repeat({ node, min, max }: Extract<Node, { kind: 'repeat' }>, next: number): number {
    let at = next;
    if (max === undefined) {
      const loop: Extract<State, { kind: 'split' }> = { kind: 'split', next: 0, other: next };
      at = this.add(loop);
      loop.next = this.build(node, at);
    } else {
      for (let i = min; i < max; i++) at = this.add({ kind: 'split', next: this.build(node, at), other: next });
    }
    for (let i = 0; i < min; i++) at = this.build(node, at);
    return at;
  }
}

function run(states: readonly State[], start: number, line: string): boolean {
  const chars = Array.from(line);
  let current = new Set<number>();
  for (let at = 0; ; at++) {
    // unanchored: a match may start at every character
    const reached = closure(states, [...current, start], (assertion) => assertionHolds(assertion, chars, at));
    if (reached === 'match') return true;
    const char = chars[at];
    if (char === undefined) return false;
    current = new Set();
    for (const id of reached) {
      const state = states[id];
      if (state?.kind === 'char' && state.matches(char)) current.add(state.next);
    }
  }
}

/** Every state reachable without consuming a character, or `match` when that is one of them. */
function closure(states: readonly State[], open: number[], holds: (assertion: Assertion) => boolean): Set<number> | 'match' {
  const reached = new Set<number>();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    const state = states[id];
    if (state?.kind === 'match') return 'match';
    if (state?.kind === 'split') open.push(state.next, state.other);
    if (state?.kind === 'assert' && holds(state.assertion)) open.push(state.next);
  }
  return reached;
}
