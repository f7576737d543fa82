/** Durations as people write them. Pure. */

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
