/** Windows that recur: openings by cron in a time zone, each of the same length. Pure. */
import { errorMessage } from '@flotilla/api';
import { Cron } from 'croner';
import { MINUTE_MS, readDuration } from '../values/duration.ts';

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
}

/** A shorter window would be over before a batch is told of it, and a longer one is no window. */
const SHORTEST_MS = 15 * MINUTE_MS;
const LONGEST_MS = 7 * 24 * 60 * MINUTE_MS;
/** Windows that are summed up at most: of the shortest these are more than ten days of open time. */
const MOST_SUMMED = 1_000;
/** Windows that overlap are followed so far to find when they close. */
const MOST_MERGED = 64;

/** A part of a schedule that cannot be used, and why: "…, not five cron fields". */
interface ScheduleProblem {
  readonly field: 'schedule' | 'duration' | 'timezone';
  readonly why: string;
}

/**
 * Reads a schedule; returns the first part that is wrong, which a schedule that never opens is too.
 * An opening that daylight saving skips is moved by the hour that is skipped; one that occurs twice opens the first time.
 * @param parts `schedule`: five cron fields; `duration`: such as `4h`, `90m` or `1h30m`; `timezone`: an IANA name
 */
export function readWindowSchedule(parts: { schedule: string; duration: string; timezone: string }): WindowSchedule | ScheduleProblem {
  const { timezone } = parts;
  if (!isZone(timezone)) return { field: 'timezone', why: 'no time zone of the IANA database' };
  const durationMs = readDuration(parts.duration, { shortestMs: SHORTEST_MS, longestMs: LONGEST_MS });
  if (durationMs === undefined) return { field: 'duration', why: 'no duration between 15m and 168h' };
  const cron = readCron(parts.schedule, timezone);
  if (typeof cron === 'string') return { field: 'schedule', why: cron };
  if (!cron.nextRun(new Date(0))) return { field: 'schedule', why: 'which never opens' };
  return scheduleOf(cron, durationMs, timezone);
}

function scheduleOf(cron: Cron, durationMs: number, timezone: string): WindowSchedule {
  const nextOpening = (time: number): number | undefined => cron.nextRun(new Date(time))?.getTime();
  /** Openings have whole seconds, and one at the time itself counts. */
  const lastOpening = (time: number): number | undefined =>
    cron.previousRuns(1, new Date(Math.floor(time / 1000) * 1000 + 1000))[0]?.getTime();
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
  const openMs: WindowSchedule['openMs'] = (from, to) => {
    let sum = 0;
    let until = from;
    let opening = lastOpening(from) ?? nextOpening(from);
    for (let count = 0; opening !== undefined && opening < to; count++) {
      // Beyond the bound all time counts as open.
      if (count >= MOST_SUMMED) return sum + to - until;
      const end = Math.min(opening + durationMs, to);
      sum += Math.max(end - Math.max(opening, until), 0);
      until = Math.max(until, end);
      opening = nextOpening(opening);
    }
    return sum;
  };
  return { openAt, nextOpening, openMs, format: (time) => formatInZone(time, timezone) };
}

/** A text says why it is none. */
function readCron(schedule: string, timezone: string): Cron | string {
  if (schedule.trim().split(/\s+/).length !== 5) return 'not five cron fields';
  try {
    return new Cron(schedule, { timezone, paused: true, mode: '5-part' });
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
