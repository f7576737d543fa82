import { isJsonObject } from '@flotilla/api';

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** The object at a place; empty where there is none. */
export const objectAt = (value: unknown): Json => (isJsonObject(value) ? value : {});
/** The objects of a list; other entries are left out. */
export const objectsAt = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
export const textAt = (value: unknown): string => (typeof value === 'string' ? value : '');
/** The names of a list's objects; entries without one are left out. */
export const namesAt = (value: unknown): string[] => objectsAt(value).flatMap(({ name }) => (typeof name === 'string' ? [name] : []));

/** An object without the fields that are undefined. */
export const defined = (value: Json): Json => Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));

/** A Go `bool` without a pointer: false is as good as absent. */
export const flagOf = (value: unknown): true | undefined => (value === true ? true : undefined);

/** True for a value that says nothing: absent, null, an empty list, or an object without a set field. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.values(value).every(isNothing);
}

const isNothing = (value: unknown): boolean => value === undefined || value === null;

/** True when two values mean the same to an API server: empty is as good as absent, and the order of keys does not count. */
export const isSame = (a: unknown, b: unknown): boolean => isSameBut(a, b, isEmpty);

/** Compares two values of a field by a rule of its own. */
type FieldRule = (key: string, a: unknown, b: unknown) => boolean;

/** As `isSame`, and zero, false and an empty text are as good as absent too: for objects whose every field leaves those out. */
export const isSameButZeros = (a: unknown, b: unknown, rule?: FieldRule): boolean => isSameBut(a, b, isZero, rule);

function isSameBut(a: unknown, b: unknown, isAbsent: (value: unknown) => boolean, rule?: FieldRule): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b) && a.length > 0)
    return a.length === b.length && a.every((item, index) => isSameBut(item, b[index], isAbsent, rule));
  if (isJsonObject(a) && isJsonObject(b)) {
    for (const key in a) if (!isSameBut(a[key], b[key], isAbsent, rule) && !rule?.(key, a[key], b[key])) return false;
    for (const key in b) if (!(key in a) && !isAbsent(b[key])) return false;
    return true;
  }
  return isAbsent(a) && isAbsent(b);
}

const isZero = (value: unknown): boolean => value === false || value === 0 || value === '' || isEmpty(value);

const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** The number a quantity stands for; undefined when it is none. */
function quantityOf(value: unknown): number | undefined {
  const [, digits, suffix = ''] =
    /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(String(value).slice(0, 64)) ?? [];
  const factor = SUFFIXES[suffix];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** True for two quantities of one size, however they are written: `1` and `1000m`. */
export function isSameQuantity(a: unknown, b: unknown): boolean {
  const [left, right] = [quantityOf(a), quantityOf(b)];
  if (left === undefined || right === undefined) return a === b;
  return Math.abs(left - right) <= Math.abs(left) * 1e-12;
}
