/** Schedule of an upgrade (spec/muo 4.1). */

interface Schedule {
  readonly isReady: boolean;
  /** The upgrade starts after its window. It starts all the same, because the window only ends an upgrade that has changed nothing. */
  readonly isBreached: boolean;
  /** Milliseconds until the start; 0 when it is ready. */
  readonly untilUpgradeMs: number;
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Parses RFC 3339 to milliseconds since the epoch; undefined for other texts. */
export function parseTime(text: string): number | undefined {
  const time = RFC_3339.test(text) && isInCalendar(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** Date.parse reads 30 February as 2 March, and the 24th hour as the next day. */
function isInCalendar(text: string): boolean {
  const [date = '', hour = ''] = text.split(/[T:]/);
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return Number(hour) < 24 && !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date);
}

/**
 * Computes the schedule; undefined for an invalid time.
 * @param windowMinutes length of the upgrade window; 0 for one without an end
 */
export function scheduleOf(upgradeAt: string, windowMinutes: number, nowMs: number): Schedule | undefined {
  const at = parseTime(upgradeAt);
  if (at === undefined) return undefined;
  if (nowMs <= at) return { isReady: false, isBreached: false, untilUpgradeMs: at - nowMs };
  return { isReady: true, isBreached: windowMinutes > 0 && at + windowMinutes * 60_000 <= nowMs, untilUpgradeMs: 0 };
}

const EARLY_MINUTES = 120;
/** True for upgrades more than two hours away, which are checked early (spec/muo 2.2); both times count in whole minutes. */
export const isEarly = ({ untilUpgradeMs }: Schedule): boolean => Math.trunc(untilUpgradeMs / 60_000) > EARLY_MINUTES;
