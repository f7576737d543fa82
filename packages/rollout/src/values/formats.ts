/** Values as people and Go write them: lists, quotes, durations, sizes. Pure. */

/** A list as Go prints a slice: `[a b]` (spec/talm 2.3). */
export const formatSlice = (items: readonly string[]): string => `[${items.join(' ')}]`;

/** A map of lists as Go marshals it: keys and values sorted, no spaces (spec/talm 2.3, ambiguous policies). */
export function formatSortedJson(lists: Readonly<Record<string, readonly string[]>>): string {
  const entries = Object.keys(lists)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify((lists[key] ?? []).toSorted())}`);
  return `{${entries.join(',')}}`;
}

/** A value from outside for a message: quoted, control characters escaped, at most so many characters. */
export const quote = (value: string, most = 100): string => JSON.stringify(value.length > most ? `${value.slice(0, most)}…` : value);

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** Reads hours, minutes and seconds, such as `4h`, `90m` or `1h30m`, within bounds, in milliseconds; undefined for anything else. */
export function readDuration(
  text: string,
  { shortestMs, longestMs }: { readonly shortestMs: number; readonly longestMs: number },
): number | undefined {
  const match = /^(?:(\d{1,3})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?$/.exec(text.trim());
  const [hours, minutes, seconds] = [1, 2, 3].map((part) => Number(match?.[part] ?? 0)) as [number, number, number];
  const durationMs = (hours * 60 + minutes) * MINUTE_MS + seconds * 1_000;
  return durationMs >= shortestMs && durationMs <= longestMs ? durationMs : undefined;
}

const GIB = 2 ** 30;
const UNITS = ' KMGTP';
/** Sizes have a dozen characters. */
const LONGEST_SIZE = 64;

/** Result of `parseSpaceRequired`. */
type SpaceRequired = { readonly gib: string; readonly problem?: undefined } | { readonly problem: string };

/**
 * A size as docker/go-units reads it (spec/talm 3.3), as whole GiB rounded up, in decimal: `40 GB` is `38`. With an `i` in
 * it units are powers of 1024, else of 1000; a plain number is bytes. `30 Gi`, which vendors' examples have, is `30`; strictly it is no size.
 * @param field names the value in the problem
 */
export function parseSpaceRequired(value: string, field: string, talmStrict = false): SpaceRequired {
  const text = value.trim();
  const match = text.length > LONGEST_SIZE ? null : /^(\d+(?:\.\d*)?|\.\d+) ?([kmgtp]?)(i?b?)$/i.exec(text);
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
