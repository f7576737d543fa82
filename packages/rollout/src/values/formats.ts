/** Values as people and Go write them: lists, quotes, durations. Pure. */

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
