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

/** Durations as people write them. Pure. */

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** Reads hours and minutes, such as `4h`, `90m` or `1h30m`, within bounds, in milliseconds; undefined for anything else. */
export function readDuration(
  text: string,
  { shortestMs, longestMs }: { readonly shortestMs: number; readonly longestMs: number },
): number | undefined {
  const match = /^(?:(\d{1,3})h)?(?:(\d{1,5})m)?$/.exec(text.trim());
  const durationMs = (Number(match?.[1] ?? 0) * 60 + Number(match?.[2] ?? 0)) * MINUTE_MS;
  return durationMs >= shortestMs && durationMs <= longestMs ? durationMs : undefined;
}
