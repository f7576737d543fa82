/** Windows that recur: openings by cron in a time zone, each of the same length. Pure. */
import { errorMessage } from '@flotilla/api';
import { Cron } from 'croner';
import { MINUTE_MS, readDuration } from '../values/formats.ts';

/** A schedule of windows. Times are milliseconds since the epoch. */
export interface WindowSchedule {
  /** The window that is open at a time; `closesAt` is undefined where windows follow each other without a gap. */
  openAt(time: number): { readonly closesAt: number | undefined } | undefined;
  /** The first opening after a time; undefined when there is none. */
  nextOpening(time: number): number | undefined;
  /** Milliseconds between two times in which a window was open. */
  openMs(from: number, to: number): number;
  /** A time as the schedule's zone writes it, RFC 3339. */
  format(time: number): string;
  /** True when it names days of the month and of the week: cron opens on days that either names, which few expect. */
  readonly namesBothDays: boolean;
}

/** A shorter window would be over before a batch is told of it, and a longer one is no window. */
const SHORTEST_MS = 15 * MINUTE_MS;
const LONGEST_MS = 7 * 24 * 60 * MINUTE_MS;
/** Windows that are summed up at most: of the shortest these are more than ten days of open time. */
const MOST_SUMMED = 1_000;
/** Beginnings whose sums are remembered. */
const MOST_SUMS = 50;
/** Windows that overlap are followed so far to find when they close. */
const MOST_MERGED = 300;

/** A part of a schedule that cannot be used, and why: "…, not five cron fields". */
interface ScheduleProblem {
  readonly field: 'schedule' | 'duration' | 'timezone';
  readonly why: string;
}

/**
 * Reads a schedule; returns the first part that is wrong, which a schedule that never opens is too.
 * An opening that a change of the local clock skips is moved by what is skipped; one that occurs twice opens the first time.
 * @param parts `schedule`: five cron fields; `duration`: such as `4h`, `90m` or `1h30m`; `timezone`: an IANA name
 */
export function readWindowSchedule(parts: { schedule: string; duration: string; timezone: string }): WindowSchedule | ScheduleProblem {
  const { timezone } = parts;
  if (!isZone(timezone)) return { field: 'timezone', why: 'no time zone of the IANA database' };
  const durationMs = readDuration(parts.duration, { shortestMs: SHORTEST_MS, longestMs: LONGEST_MS });
  if (durationMs === undefined) return { field: 'duration', why: 'no duration between 15m and 168h' };
  const cron = readCron(parts.schedule);
  if (typeof cron === 'string') return { field: 'schedule', why: cron };
  if (!cron.nextRun(new Date(0))) return { field: 'schedule', why: 'which never opens' };
  return scheduleOf(cron, durationMs, timezone);
}

function scheduleOf(cron: Cron, durationMs: number, timezone: string): WindowSchedule {
  const { next: nextOpening, last: lastOpening } = remembered(openingsOf(cron, timezone));
  let formatted: { readonly time: number; readonly text: string } | undefined;
  const format = (time: number): string => {
    if (formatted?.time !== time) formatted = { time, text: formatInZone(time, timezone) };
    return formatted.text;
  };
  const openAt: WindowSchedule['openAt'] = (time) => {
    const opening = lastOpening(time);
    if (opening === undefined || time >= opening + durationMs) return undefined;
    let last = opening;
    for (let merged = 0; merged < MOST_MERGED; merged++) {
      const next = nextOpening(last);
      if (next === undefined || next > last + durationMs) return { closesAt: last + durationMs };
      last = next;
    }
    return { closesAt: undefined };
  };
  /** Sums of windows that have ended, by the time from which they are counted: each question goes on where the one before it was. */
  const sums = new Map<
    number,
    { readonly sum: number; readonly until: number; readonly opening: number | undefined; readonly count: number }
  >();
  const openMs: WindowSchedule['openMs'] = (from, to) => {
    const known = sums.get(from);
    let { sum, until, opening, count } =
      known && known.until <= to ? known : { sum: 0, until: from, opening: lastOpening(from) ?? nextOpening(from), count: 0 };
    for (; opening !== undefined && opening + durationMs <= to && count < MOST_SUMMED; count++) {
      sum += Math.max(opening + durationMs - Math.max(opening, until), 0);
      until = Math.max(until, opening + durationMs);
      opening = nextOpening(opening);
    }
    if (sums.size >= MOST_SUMS) sums.clear();
    sums.set(from, { sum, until, opening, count });
    // Beyond the bound all time counts as open.
    if (count >= MOST_SUMMED) return sum + to - until;
    return opening === undefined ? sum : sum + Math.max(to - Math.max(opening, until), 0);
  };
  const [, , days, , weekdays] = (cron.getPattern() ?? '').trim().split(/\s+/);
  // A plus before the days of the week means both.
  const namesBothDays = [days, weekdays].every((field) => field !== undefined && !/^(?:[*?]$|\+)/.test(field));
  return { openAt, nextOpening, openMs, format, namesBothDays };
}

/** Openings around a time, milliseconds since the epoch. */
interface Openings {
  /** The first after it. */
  readonly next: (time: number) => number | undefined;
  /** The last at it or before. */
  readonly last: (time: number) => number | undefined;
}

/** Openings with the last answers: none is between a time and the next opening, and thousands of clusters ask a schedule at nearly the same time. */
function remembered({ next: nextOf, last: lastOf }: Openings): Openings {
  let after: { readonly from: number; readonly opening: number | undefined } | undefined;
  let before: { readonly from: number; readonly until: number; readonly opening: number | undefined } | undefined;
  const next = (time: number): number | undefined => {
    const isKnown = after && time >= after.from && time < (after.opening ?? Number.POSITIVE_INFINITY);
    if (!after || !isKnown) after = { from: time, opening: nextOf(time) };
    return after.opening;
  };
  const last = (time: number): number | undefined => {
    if (!before || time < before.from || time >= before.until)
      before = { from: time, until: next(time) ?? Number.POSITIVE_INFINITY, opening: lastOf(time) };
    return before.opening;
  };
  return { next, last };
}

/** No zone changes its offset by more. */
const LONGEST_CHANGE_MS = 3 * 60 * MINUTE_MS;

/**
 * Openings in real time of a schedule that runs by the local clock, which is read as if it were UTC: the library moves some openings of a skipped hour to
 * its end and drops others.
 */
function openingsOf(cron: Cron, timezone: string): Openings {
  const offsetAt = offsetsOf(timezone);
  /** A local time that is skipped counts by the offset before the change; of one that comes twice the first counts. */
  const instantOf = (local: number): number => {
    const [before, after] = [offsetAt(local - offsetAt(local) - LONGEST_CHANGE_MS), offsetAt(local - offsetAt(local) + LONGEST_CHANGE_MS)];
    const found = [local - before, local - after].filter((instant) => instant + offsetAt(instant) === local);
    return found.length > 0 ? Math.min(...found) : local - before;
  };
  const next = (time: number): number | undefined => {
    let best: number | undefined;
    let local = time + offsetAt(time) - LONGEST_CHANGE_MS;
    for (;;) {
      const run = cron.nextRun(new Date(local))?.getTime();
      const instant = run === undefined ? undefined : instantOf(run);
      if (run === undefined || instant === undefined) return best;
      if (instant > time) best = Math.min(best ?? instant, instant);
      // Openings after a change may overtake those that it moved.
      if (best !== undefined && (instant > best + LONGEST_CHANGE_MS || isSteady(best))) return best;
      local = run;
    }
  };
  const last = (time: number): number | undefined => {
    let best: number | undefined;
    // Openings have whole seconds, and one at the time itself counts.
    let local = Math.floor((time + offsetAt(time)) / 1000) * 1000 + 1000 + LONGEST_CHANGE_MS;
    for (;;) {
      const run = cron.previousRuns(1, new Date(local))[0]?.getTime();
      const instant = run === undefined ? undefined : instantOf(run);
      if (run === undefined || instant === undefined) return best;
      if (instant <= time) best = Math.max(best ?? instant, instant);
      if (best !== undefined && (instant < best - LONGEST_CHANGE_MS || isSteady(best))) return best;
      local = run;
    }
  };
  const isSteady = (time: number): boolean => offsetAt(time - LONGEST_CHANGE_MS) === offsetAt(time + LONGEST_CHANGE_MS);
  return { next, last };
}

/** Offset of a zone from UTC at a time, in milliseconds. */
function offsetsOf(timeZone: string): (time: number) => number {
  const fields = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (time) => {
    const whole = Math.floor(time / 1000) * 1000;
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of fields.formatToParts(whole)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
  };
}

/** A text says why it is none. */
function readCron(schedule: string): Cron | string {
  if (schedule.trim().split(/\s+/).length !== 5) return 'not five cron fields';
  try {
    return new Cron(schedule, { timezone: 'UTC', paused: true, mode: '5-part' });
  } catch (cause) {
    // Its errors begin with the class that found them.
    return `no cron schedule (${errorMessage(cause).replace(/^\w+: /, '')})`;
  }
}

function isZone(timezone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    // An offset is no zone: it knows no daylight saving.
    return !/^[+-]/.test(timezone);
  } catch {
    return false;
  }
}

function formatInZone(time: number, timeZone: string): string {
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(time).replace(' ', 'T');
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(time);
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value.replace('GMT', '') ?? '';
  return `${local}${offset === '' || offset === '+00:00' ? 'Z' : offset}`;
}
