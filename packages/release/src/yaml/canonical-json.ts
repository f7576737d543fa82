import type { Scalar } from './plain-scalar.ts';

/** A value as a YAML or JSON document has it, before it becomes JSON. */
export type YamlValue = Scalar | readonly YamlValue[] | ReadonlyMap<string, YamlValue>;

/** Compact JSON as Go's encoder writes it: keys in order, `<`, `>` and `&` escaped. Its bytes go into the hash of a payload. */
export function canonicalJson(value: YamlValue): string {
  if (typeof value === 'string') return quotedForGo(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const keys = [...value.keys()].sort();
  return `{${keys.map((key) => `${quotedForGo(key)}:${canonicalJson(value.get(key) ?? null)}`).join(',')}}`;
}

const isList = (value: object): value is readonly YamlValue[] => Array.isArray(value);

const SPECIAL = /[<>&\u2028\u2029]/g;
const quotedForGo = (text: string): string =>
  JSON.stringify(text).replaceAll(SPECIAL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
