import { quote } from '../values/go-format.ts';

const GIB = 2 ** 30;
const UNITS = ' KMGTP';
/** Sizes have a dozen characters. */
const MAX_LENGTH = 64;

/** Result of `parseSpaceRequired`. */
type SpaceRequired = { readonly gib: string; readonly problem?: undefined } | { readonly problem: string };

/**
 * A size as docker/go-units reads it (spec/talm 3.3), as whole GiB rounded up, in decimal: `40 GB` is `38`. With an `i` in
 * it units are powers of 1024, else of 1000; a plain number is bytes. `30 Gi`, which vendors' examples have, is `30`; strictly it is no size.
 * @param field names the value in the problem
 */
export function parseSpaceRequired(value: string, field: string, talmStrict = false): SpaceRequired {
  const text = value.trim();
  const match = text.length > MAX_LENGTH ? null : /^(\d+(?:\.\d*)?|\.\d+) ?([kmgtp]?)(i?b?)$/i.exec(text);
  const [, digits = '', unit = '', suffix = ''] = match ?? [];
  const hasIndex = /i/i.test(suffix);
  // go-units knows no lone "iB", because the letter that says how many is missing, and no "Gi".
  if (!match || (hasIndex && (unit === '' || (talmStrict && suffix.length === 1))))
    return { problem: `${field} ${quote(value)} is not a size; write a number and a unit, for example 40 GiB` };
  const base = hasIndex ? 1024 : 1000;
  const bytes = Math.floor(Number(digits) * base ** (unit === '' ? 0 : UNITS.indexOf(unit.toUpperCase())));
  if (bytes > Number.MAX_SAFE_INTEGER) return { problem: `${field} ${quote(value)} is more than any disk has; write at most 8000 TiB` };
  return { gib: String(Math.ceil(bytes / GIB)) };
}
