import type { Scalar } from './plain-scalar.ts';

/** A value as a YAML or JSON document has it, before it becomes JSON. */
export type YamlValue = Scalar | readonly YamlValue[] | ReadonlyMap<string, YamlValue>;

/** Compact JSON as Go's encoder writes it: keys in order, `<`, `>` and `&` escaped. Its bytes go into the hash of a payload. */
export function canonicalJson(value: YamlValue): string {
  // outside of texts JSON has none of these signs
  return plainJson(value).replaceAll(SPECIAL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Joined as it goes: an engine copies the parts of a text once, when the whole is looked at. */
function plainJson(value: YamlValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value === null || typeof value !== 'object') return String(value);
  let text = '';
  if (isList(value)) {
    for (const item of value) text += (text === '' ? '[' : ',') + plainJson(item);
    return text === '' ? '[]' : `${text}]`;
  }
  for (const key of [...value.keys()].sort())
    text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${plainJson(value.get(key) ?? null)}`;
  return text === '' ? '{}' : `${text}}`;
}

const isList = (value: object): value is readonly YamlValue[] => Array.isArray(value);

const SPECIAL = /[<>&\u2028\u2029]/g;
