import { isJsonObject, isSameJson } from '@flotilla/api';
import { type Clock, systemClock } from '@flotilla/pace';
import { ApiError, type FieldCause, RuntimeErrorCode } from './errors.ts';
import { cutText } from './event-recorder-object.ts';

/** A value of a status that a server does not take. */
interface RefusedValue {
  /** Path of the field, as the server names it. */
  readonly field: string;
  readonly value: unknown;
  /** Reason in the server's words. */
  readonly said: string;
}

/** Tells that a value was left out, and why. */
export const refusedText = ({ field, value, said }: RefusedValue): string =>
  `The server's definition does not take ${field} ${cutText(JSON.stringify(value) ?? '', MOST_TOLD_BYTES)}, which is left out: ${said}`;

interface RefusedValuesOptions {
  /** Told of each value once. Default: nobody. */
  readonly tell?: (value: RefusedValue) => void;
  /** Paths (`status.updates[]`) of values that are left out whole: without a part of them they would say something else. */
  readonly whole?: readonly string[];
  readonly clock?: Clock;
  /** A refused value is tried again after so long, milliseconds: definitions are updated. Default ten minutes. */
  readonly forgetAfterMs?: number;
}

type Keys = readonly (string | number)[];

/** One refusal: what is left out, or how much is kept. */
interface Rule {
  /** Path with `[]` for every index. */
  readonly path: string;
  readonly value: unknown;
  /** Most items of the list, or bytes of the text, at the path. */
  readonly limit: number | undefined;
  /** Too many values are refused there: all are left out. */
  readonly isOfAll?: boolean;
  readonly sinceMs: number;
}

const MOST_RULES = 200;
const MOST_TOLD_BYTES = 256;
const TEN_MINUTES_MS = 600_000;
/** Texts for people say as much without their end; any other value would be another one. */
const TEXT_FIELD = 'message';

/**
 * Values that an API server refused in the statuses of a kind, and statuses without them. The definition that a server has may be older or
 * stricter than the one that a status is made for; a value that it refuses costs that value alone.
 */
export class RefusedValues {
  readonly #options: RefusedValuesOptions;
  readonly #clock: Clock;
  readonly #told = new Set<string>();
  #rules: readonly Rule[] = [];

  constructor(options: RefusedValuesOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The status as far as the server took it before. */
  without<T>(status: T): T {
    const { forgetAfterMs = TEN_MINUTES_MS } = this.#options;
    const nowMs = this.#clock.now();
    this.#rules = this.#rules.filter(({ sinceMs }) => nowMs - sinceMs <= forgetAfterMs);
    return this.#rules.reduce<T>((left, rule) => withoutValue(left, ['status'], rule) as T, status);
  }

  /** Has every value tried again. */
  forget(): void {
    this.#rules = [];
  }

  /** Learns what is to be left out from the refusal of a status. False where nothing can be: the error is the caller's. */
  learn(status: unknown, error: unknown): boolean {
    if (!(error instanceof ApiError) || error.code !== RuntimeErrorCode.invalid) return false;
    const found = error.causes.flatMap((cause) => this.#ruleOf(status, cause) ?? []);
    this.#rules = bounded([...this.#rules, ...found.map(({ rule }) => rule)]);
    for (const { value } of found) this.#tell(value);
    return found.length > 0;
  }

  #ruleOf(status: unknown, cause: FieldCause): { readonly rule: Rule; readonly value: RefusedValue } | undefined {
    const all = keysOf(cause.field, { status });
    const keys = all && this.#wholeOf(all);
    // without the status itself nothing would be left
    if (!keys || keys.length < 2) return undefined;
    const value = valueAt({ status }, keys);
    const limit = keys === all ? limitOf(cause, keys, value) : undefined;
    const rule = { path: patternOf(keys), value, limit, sinceMs: this.#clock.now() };
    return { rule, value: { field: cause.field, value, said: cause.message } };
  }

  #wholeOf(keys: Keys): Keys {
    const { whole = [] } = this.#options;
    const length = keys.findIndex((_, index) => whole.includes(patternOf(keys.slice(0, index + 1))));
    return length === -1 || length === keys.length - 1 ? keys : keys.slice(0, length + 1);
  }

  #tell(value: RefusedValue): void {
    const key = JSON.stringify([value.field.replaceAll(/\[\d+\]/g, '[]'), value.value]);
    if (this.#told.has(key) || this.#told.size >= MOST_RULES) return;
    this.#told.add(key);
    this.#options.tell?.(value);
  }
}

/** Keys that lead to a field; to what it would be in, where it is missing. Undefined for a path that leads nowhere. */
function keysOf(field: string, root: unknown): Keys | undefined {
  const keys: (string | number)[] = [];
  let [rest, value] = [field, root];
  while (rest !== '') {
    const key = nextKey(rest, value);
    if (!key) return keys.length > 0 ? keys : undefined;
    keys.push(key.name);
    rest = key.rest;
    value = valueAt(value, [key.name]);
  }
  return keys;
}

function nextKey(path: string, value: unknown): { readonly name: string | number; readonly rest: string } | undefined {
  const index = Array.isArray(value) && /^\[(\d+)\]/.exec(path);
  if (index) return Number(index[1]) < value.length ? { name: Number(index[1]), rest: path.slice(index[0].length) } : undefined;
  if (!isJsonObject(value)) return undefined;
  const text = path.replace(/^\./, '');
  // keys of maps have dots of their own
  const name = Object.keys(value)
    .filter((key) => text === key || text.startsWith(`${key}.`) || text.startsWith(`${key}[`))
    .reduce<string | undefined>((longest, key) => (key.length > (longest?.length ?? -1) ? key : longest), undefined);
  return name === undefined ? undefined : { name, rest: text.slice(name.length) };
}

const valueAt = (root: unknown, keys: Keys): unknown =>
  keys.reduce<unknown>(
    (value, key) => (Array.isArray(value) ? value[Number(key)] : isJsonObject(value) ? value[String(key)] : undefined),
    root,
  );

const patternOf = (keys: Keys): string =>
  keys.reduce<string>((path, key) => (typeof key === 'number' ? `${path}[]` : path === '' ? key : `${path}.${key}`), '');

/** Most that the server takes at a path, where a shorter value says the same or almost. */
function limitOf({ reason, message }: FieldCause, keys: Keys, value: unknown): number | undefined {
  const most = Number(/(?:at most|more than) (\d{1,9})\b/.exec(message)?.[1]);
  if (Number.isNaN(most)) return undefined;
  if (reason === 'FieldValueTooMany' && Array.isArray(value) && value.length > most) return most;
  if (reason !== 'FieldValueTooLong' || keys.at(-1) !== TEXT_FIELD || typeof value !== 'string') return undefined;
  return Buffer.byteLength(value) > most ? most : undefined;
}

/** Each value once; at a path with too many one rule for all of them. */
function bounded(rules: readonly Rule[]): readonly Rule[] {
  const byPath = Map.groupBy(rules, ({ path }) => path);
  const kept = new Map([...byPath].map(([path, of]) => [path, distinct(of)]));
  const count = () => [...kept.values()].reduce((sum, of) => sum + of.length, 0);
  while (count() > MOST_RULES) {
    const [path, of] = [...kept].reduce((most, entry) => (entry[1].length > most[1].length ? entry : most));
    // The oldest go where there are more paths than rules.
    if (of.length === 1) return [...kept.values()].flat().slice(-MOST_RULES);
    const sinceMs = Math.max(...of.map((rule) => rule.sinceMs));
    kept.set(path, [{ path, value: undefined, limit: undefined, isOfAll: true, sinceMs }]);
  }
  return [...kept.values()].flat();
}

/** The newest rule about each value; one about all values is about each. */
function distinct(rules: readonly Rule[]): readonly Rule[] {
  const all = rules.find(({ isOfAll }) => isOfAll);
  return all ? [all] : [...new Map(rules.map((rule) => [JSON.stringify([rule.value, rule.limit]), rule])).values()];
}

const LEFT_OUT = Symbol('left out');

function withoutValue(value: unknown, keys: Keys, rule: Rule): unknown {
  const path = patternOf(keys);
  if (path === rule.path) return kept(value, rule);
  if (!rule.path.startsWith(path)) return value;
  if (Array.isArray(value)) return value.map((item, index) => withoutValue(item, [...keys, index], rule)).filter(isLeft);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]): [string, unknown] => [key, withoutValue(part, [...keys, key], rule)]);
  return Object.fromEntries(entries.filter(([, part]) => isLeft(part)));
}

const isLeft = (value: unknown): boolean => value !== LEFT_OUT;

function kept(value: unknown, { limit, isOfAll = false, value: refused }: Rule): unknown {
  if (isOfAll) return LEFT_OUT;
  if (limit !== undefined) return Array.isArray(value) ? value.slice(0, limit) : typeof value === 'string' ? cutText(value, limit) : value;
  return isSameJson(value, refused) ? LEFT_OUT : value;
}
