type Json = Record<string, unknown>;
/** True for a JSON object, as opposed to a list, a scalar or null. */
export const isJsonObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Digits that may be an integer which no double holds; some stand inside a text, which costs time alone. */
const MAYBE_INEXACT = /(?:^|[^"\w.])\d{16}/;

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Only whole numbers in plain digits: servers keep others as doubles themselves. */
const revive: Reviver = (_, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context?.source ?? 0) : value;

/** Parses JSON exactly: an integer beyond the safe ones becomes a bigint, which `JSON.stringify` writes as it was. Throws for what is no JSON. */
export const parseJson = (text: string): unknown => (MAYBE_INEXACT.test(text) ? JSON.parse(text, revive) : JSON.parse(text));

const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
// Every JSON.stringify would throw for a bigint: objects of others are written in many places, and none may forget it.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint) {
    return rawJSON ? rawJSON(String(this)) : Number(this);
  },
});

/** Reads a text as JSON; undefined for one that is none. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Compares JSON values deeply; the order of keys does not count. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => isSameJson(item, b[index]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]));
}

/** Applies a JSON merge patch (RFC 7396). */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: Json = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else if (value !== undefined) merged[key] = mergePatched(merged[key], value);
  }
  return merged;
}

/** Computes the JSON merge patch (RFC 7386) from one value to another; undefined for equal ones. Lists are replaced whole. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (after === undefined) return before === undefined ? undefined : null;
  if (!isJsonObject(before) || !isJsonObject(after)) return isSamePart(before, after) ? undefined : after;
  const patch: Json = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = mergePatch(before[key], after[key]);
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function isSamePart(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => isSamePart(item, b[index]));
  if (isJsonObject(a) && isJsonObject(b)) return mergePatch(a, b) === undefined;
  return a === b || (a === null && b === undefined);
}
