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
