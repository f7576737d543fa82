import { isJsonObject } from '@flotilla/api';
import { ServerRefusal } from '@flotilla/runtime';

/**
 * The part of kubectl's JSONPath that feedback rules use (spec/ocm 4.2): `.a.b`, `['a.b']`, `[0]`, `[-1]`, `[*]`, `.*` and filters such as
 * `[?(@.type=="Ready")]`. Braces around the whole and a leading `$` are accepted. A missing key gives nothing, not an error.
 */
export type JsonPath = readonly Step[];

type Step =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly every: true }
  | { readonly where: Operand; readonly operator: Operator | undefined; readonly than: Operand };
type Operand = { readonly path: JsonPath } | { readonly literal: unknown };
type Operator = '==' | '!=' | '<=' | '>=' | '<' | '>';

const OPERATORS: readonly Operator[] = ['==', '!=', '<=', '>=', '<', '>'];
const LONGEST = 2048;
/** Characters that end an unquoted key. All others belong to it, as in kubectl: a stray quote becomes part of a key that no object has. */
const KEY_END = /[.[\]\s,$@{}]/;

/** Parses a path; throws `ServerRefusal` with the place and the fix. */
export function parseJsonPath(text: string): JsonPath {
  if (text.length > LONGEST) throw new ServerRefusal(`path of ${text.length} characters: at most ${LONGEST} are allowed`);
  const bare = /^\{(.*)\}$/s.exec(text.trim())?.[1] ?? text.trim();
  const cursor = new Cursor(bare, text);
  cursor.take('$');
  if (!cursor.isAt('.') && !cursor.isAt('[')) cursor.fail('expected "." or "["');
  const steps = readSteps(cursor);
  if (!cursor.atEnd) cursor.fail('unexpected text');
  return steps;
}

/** Finds the values at a path, in order; none when a key or item is missing. */
export function valuesAt(path: JsonPath, root: unknown): unknown[] {
  let values: unknown[] = [root];
  for (const step of path) values = values.flatMap((value) => follow(step, value));
  return values;
}

function follow(step: Step, value: unknown): unknown[] {
  if ('key' in step) return isJsonObject(value) && Object.hasOwn(value, step.key) ? [value[step.key]] : [];
  if ('every' in step) return itemsOf(value);
  if ('index' in step) return Array.isArray(value) && value.at(step.index) !== undefined ? [value.at(step.index)] : [];
  return Array.isArray(value) ? value.filter((item) => holds(step, item)) : [];
}

const itemsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : []);

function holds({ where, operator, than }: Extract<Step, { where: Operand }>, item: unknown): boolean {
  const found = operandValues(where, item);
  if (operator === undefined) return found.length > 0;
  const [left] = found;
  const [right] = operandValues(than, item);
  return found.length > 0 && isRelated(left, operator, right);
}

const operandValues = (operand: Operand, item: unknown): unknown[] =>
  'literal' in operand ? [operand.literal] : valuesAt(operand.path, item);

function isRelated(left: unknown, operator: Operator, right: unknown): boolean {
  // Integers that no double holds are bigints.
  const areNumbers = isNumber(left) && isNumber(right);
  // biome-ignore lint/suspicious/noDoubleEquals: 1n and 1 are the same number
  const isSame = areNumbers ? left == right : left === right;
  if (operator === '==') return isSame;
  if (operator === '!=') return !isSame;
  const comparable = areNumbers || (typeof left === 'string' && typeof right === 'string');
  if (!comparable) return false;
  if (operator === '<') return left < right;
  if (operator === '>') return left > right;
  return operator === '<=' ? left <= right : left >= right;
}

const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

class Cursor {
  readonly #text: string;
  readonly #whole: string;
  #at = 0;

  constructor(text: string, whole: string) {
    this.#text = text;
    this.#whole = whole;
  }

  get atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  isAt(token: string): boolean {
    return this.#text.startsWith(token, this.#at);
  }

  take(token: string): boolean {
    if (!this.isAt(token)) return false;
    this.#at += token.length;
    return true;
  }

  need(token: string): void {
    if (!this.take(token)) this.fail(`expected ${JSON.stringify(token)}`);
  }

  skipBlanks(): void {
    while (this.take(' '));
  }

  /** Consumes a match at this position; the expression is sticky. */
  match(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  /** Consumes one character; undefined at the end. */
  next(): string | undefined {
    const char = this.#text[this.#at];
    if (char !== undefined) this.#at += 1;
    return char;
  }

  back(): void {
    this.#at -= 1;
  }

  fail(what: string): never {
    throw new ServerRefusal(`path ${JSON.stringify(this.#whole)} is not understood at character ${this.#at + 1}: ${what}`);
  }
}

function readSteps(cursor: Cursor): Step[] {
  const steps: Step[] = [];
  for (;;) {
    if (cursor.isAt('..')) cursor.fail('".." is not supported: name every key');
    if (cursor.take('.')) {
      // `.[0]` means `[0]`.
      if (!cursor.isAt('[')) steps.push(cursor.take('*') ? { every: true } : { key: readKey(cursor) });
    } else if (cursor.take('[')) steps.push(readBracket(cursor));
    else return steps;
  }
}

function readKey(cursor: Cursor): string {
  let key = '';
  for (let char = cursor.next(); char !== undefined; char = cursor.next()) {
    if (char === '\\') key += cursor.next() ?? cursor.fail('nothing follows "\\"');
    else if (KEY_END.test(char)) {
      cursor.back();
      break;
    } else key += char;
  }
  return key === '' ? cursor.fail('expected the name of a key') : key;
}

function readBracket(cursor: Cursor): Step {
  cursor.skipBlanks();
  const step = readInside(cursor);
  cursor.skipBlanks();
  if (cursor.isAt(',') || cursor.isAt(':')) cursor.fail('lists of keys and ranges are not supported: take one item');
  cursor.need(']');
  return step;
}

function readInside(cursor: Cursor): Step {
  if (cursor.take('?(')) return readFilter(cursor);
  if (cursor.take('*')) return { every: true };
  const quoted = readQuoted(cursor);
  if (quoted !== undefined) return { key: quoted };
  const index = cursor.match(/-?\d+/y);
  return index === undefined ? cursor.fail('expected an index, "*", a key in quotes or "?("') : { index: Number(index) };
}

function readFilter(cursor: Cursor): Step {
  const where = readOperand(cursor);
  const operator = OPERATORS.find((token) => cursor.take(token));
  const than = operator === undefined ? { literal: undefined } : readOperand(cursor);
  cursor.need(')');
  return { where, operator, than };
}

function readOperand(cursor: Cursor): Operand {
  cursor.skipBlanks();
  const operand = cursor.take('@') ? { path: readFilterPath(cursor) } : { literal: readLiteral(cursor) };
  cursor.skipBlanks();
  return operand;
}

/** Reads a path inside a filter, whose keys also end at the operator. */
function readFilterPath(cursor: Cursor): Step[] {
  const steps: Step[] = [];
  for (;;) {
    if (cursor.take('[')) steps.push(readBracket(cursor));
    else if (cursor.take('.'))
      steps.push({ key: cursor.match(/[^.[\]\s,$@{}()=!<>]+/y)?.replaceAll('\\', '') ?? cursor.fail('expected the name of a key') });
    else return steps;
  }
}

const WORDS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };

function readLiteral(cursor: Cursor): unknown {
  const quoted = readQuoted(cursor);
  if (quoted !== undefined) return quoted;
  const word = cursor.match(/true|false|null|-?\d+(\.\d+)?/y);
  if (word === undefined) return cursor.fail('expected a text in quotes, a number, true, false or "@"');
  if (word in WORDS) return WORDS[word];
  // `01` is a number here, but none in JSON.
  return Number.isSafeInteger(Number(word)) || word.includes('.') ? Number(word) : BigInt(word);
}

function readQuoted(cursor: Cursor): string | undefined {
  const quote = cursor.take('"') ? '"' : cursor.take("'") ? "'" : undefined;
  if (quote === undefined) return undefined;
  let text = '';
  for (let char = cursor.next(); char !== quote; char = cursor.next())
    text += char === '\\' ? (cursor.next() ?? '') : (char ?? cursor.fail(`the quote ${quote} is not closed`));
  return text;
}
