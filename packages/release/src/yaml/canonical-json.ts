import type { Scalar } from './plain-scalar.ts';

/** A value as a YAML or JSON document has it, before it becomes JSON. */
export type YamlValue = Scalar | readonly YamlValue[] | ReadonlyMap<string, YamlValue>;

/** Compact JSON as Go's encoder writes it: keys in order, `<`, `>` and `&` escaped. Its bytes go into the hash of a payload. */
export function canonicalJson(value: YamlValue): string {
  // joined once at the end: texts of texts would be copied at each level
  const parts: string[] = [];
  write(value, parts);
  // outside of texts JSON has none of these signs
  return parts.join('').replaceAll(SPECIAL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function write(value: YamlValue, parts: string[]): void {
  if (typeof value === 'string') parts.push(JSON.stringify(value));
  else if (typeof value === 'number') parts.push(Object.is(value, -0) ? '-0' : String(value));
  else if (value === null || typeof value !== 'object') parts.push(String(value));
  else if (isList(value)) {
    let before = '[';
    for (const item of value) {
      parts.push(before);
      write(item, parts);
      before = ',';
    }
    parts.push(value.length === 0 ? '[]' : ']');
  } else {
    let before = '{';
    for (const key of [...value.keys()].sort()) {
      parts.push(before, JSON.stringify(key), ':');
      write(value.get(key) ?? null, parts);
      before = ',';
    }
    parts.push(value.size === 0 ? '{}' : '}');
  }
}

const isList = (value: object): value is readonly YamlValue[] => Array.isArray(value);

const SPECIAL = /[<>&\u2028\u2029]/g;
