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

/** Value of a YAML scalar; an integer beyond the safe ones keeps its digits. */
export type Scalar = string | number | bigint | boolean | null;

const WORDS = new Map<string, Scalar>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word): [string, Scalar] => [word, true]),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word): [string, Scalar] => [word, false]),
  ...['', '~', 'null', 'Null', 'NULL'].map((word): [string, Scalar] => [word, null]),
]);

/** As Go's ParseInt with base 0 takes it: a prefix or a leading zero names the base. */
const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n - 1n];

/**
 * Resolves an unquoted scalar as the YAML reader of Kubernetes tools does: YAML 1.1's `yes`, `on` and octal numbers count, and dates
 * stay text.
 */
export function resolvePlain(text: string): Scalar {
  const first = text.charCodeAt(0);
  // 0-9 + - . decide about numbers; everything else is in the list or a text
  const isNumeric = (first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e;
  if (!isNumeric) {
    const word = text.length <= 5 ? WORDS.get(text) : undefined;
    return word === undefined ? text : word;
  }
  // a date takes part in neither
  if (text.length > 400) return text;
  const digits = first === 0x2e ? text : text.replaceAll('_', '');
  return readInteger(digits) ?? (FLOAT.test(digits) ? finite(Number(digits), text) : text);
}

function readInteger(text: string): number | bigint | undefined {
  const found = INTEGER.exec(text);
  if (!found) return undefined;
  const [, sign = '', digits = ''] = found;
  const value = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits) * (sign === '-' ? -1n : 1n);
  if (value < LEAST || value > MOST) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const finite = (number: number, text: string): Scalar => (Number.isFinite(number) ? number : text);
