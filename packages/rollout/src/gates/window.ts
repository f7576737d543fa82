/** The window in which batches may start, from annotations of the upgrade. Pure. */
import { Annotation, conditionTime, type ObjectMeta } from '@flotilla/api';
import { type ClusterGroupUpgradeStatus, explain } from '@flotilla/api/ran';
import { z } from 'zod';
import { WINDOW_KEYS } from '../upgrade/annotations.ts';
import { readWindowSchedule, type WindowSchedule } from './window-schedule.ts';

/** The window now. `closed` names the time and the annotation; `opensAt` (epoch milliseconds) only when it is yet to open. */
export type Window =
  | { readonly kind: 'open'; readonly closesAt?: number | undefined; readonly warning?: string | undefined }
  | { readonly kind: 'closed'; readonly message: string; readonly opensAt?: number | undefined }
  | { readonly kind: 'invalid'; readonly message: string };

/** The windows of an upgrade: bounds, and a schedule within them. Times are milliseconds since the epoch. */
interface Windows {
  readonly opensAt: number;
  readonly closesAt: number;
  readonly schedule?: WindowSchedule | undefined;
}

type Annotated = { readonly metadata: Pick<ObjectMeta, 'name' | 'annotations'> };
type Times = Pick<ClusterGroupUpgradeStatus['status'], 'startedAt' | 'windows'>;
type Running = Annotated & { readonly status?: { readonly status: Times } | undefined };
type WindowPeriod = NonNullable<Times['windows']>[number];

const Time = z.iso.datetime({ offset: true });

/**
 * Judges the window at `now` (epoch milliseconds): open from its start on, closed from its end on; each annotation may be left out.
 * @param whose follows the word in a message
 */
export function judgeWindow(upgrade: Annotated, now: number, whose = ''): Window {
  const windows = readWindows(upgrade);
  if (isProblem(windows)) return { kind: 'invalid', message: `Annotation ${windows((key) => key)}` };
  const { opensAt, closesAt, schedule } = windows;
  if (now >= closesAt) return { kind: 'closed', message: `The window${whose} ended at ${describe(upgrade, Annotation.windowEnd)}` };
  if (schedule) return judgeSchedule(upgrade, windows, schedule, { now, whose });
  if (now >= opensAt) return { kind: 'open', closesAt: Number.isFinite(closesAt) ? closesAt : undefined };
  const message = `Waiting for the window${whose}, which starts at ${describe(upgrade, Annotation.windowStart)}`;
  return { kind: 'closed', message, opensAt };
}

/**
 * Milliseconds between two times in which a recurring window was closed: the rollout's time-out stands still meanwhile, so that it goes on in
 * the next window. Zero without a schedule. Each part of the time counts by the window that was in force then.
 */
export function closedMs(upgrade: Running, from: number, to: number): number {
  const periods = windowsOf(upgrade, to);
  return periods.reduce((sum, { since, annotations }, index) => {
    const [begin, end] = [Date.parse(since ?? ''), Date.parse(periods[index + 1]?.since ?? '')];
    return sum + closedIn(annotations, Math.max(from, begin || 0), Math.min(to, end || to));
  }, 0);
}

/** @param annotations of a window; absent ones could not be read, and nothing begins by these */
function closedIn(annotations: WindowPeriod['annotations'], from: number, to: number): number {
  if (!annotations) return Math.max(to - from, 0);
  const windows = readWindows({ metadata: { name: '', annotations } });
  if (isProblem(windows)) return Math.max(to - from, 0);
  const { schedule, opensAt, closesAt } = windows;
  const end = Math.min(to, closesAt);
  if (!schedule || end <= from) return 0;
  const open = Math.max(from, opensAt);
  return end - from - (end > open ? schedule.openMs(open, end) : 0);
}

/** Windows that a status remembers; of more, two of the oldest become one. */
const MOST_WINDOWS = 20;

/**
 * The windows of a running upgrade one after the other, with the one of its annotations as the last. Empty where none ever recurred.
 * @param now milliseconds since the epoch: annotations that are new are in force since then
 */
export function windowsOf({ metadata, status }: Running, now: number): readonly WindowPeriod[] {
  const { startedAt = conditionTime(0), windows = [] } = status?.status ?? {};
  const all = Object.entries(metadata.annotations ?? {});
  const given = Object.fromEntries(all.filter(([key]) => WINDOW_ANNOTATIONS.has(key)));
  const read = readWindows({ metadata: { ...metadata, annotations: given } });
  const annotations = isProblem(read) ? undefined : given;
  const last = windows.at(-1);
  if (!last) return isProblem(read) || !read.schedule ? [] : [{ since: startedAt, annotations }];
  if (isSame(last.annotations, annotations)) return windows;
  const [first, second, ...others] = windows;
  const kept = first && second && windows.length >= MOST_WINDOWS ? [{ ...second, since: first.since }, ...others] : windows;
  return [...kept, { since: conditionTime(now), ...(annotations && { annotations }) }];
}

const WINDOW_ANNOTATIONS: ReadonlySet<string> = new Set(Object.values(WINDOW_KEYS));

const isSame = (some: WindowPeriod['annotations'], others: WindowPeriod['annotations']): boolean =>
  (some === undefined) === (others === undefined) && [...WINDOW_ANNOTATIONS].every((key) => some?.[key] === others?.[key]);

function judgeSchedule(
  upgrade: Annotated,
  { opensAt, closesAt }: Windows,
  schedule: WindowSchedule,
  { now, whose }: { readonly now: number; readonly whose: string },
): Window {
  const open = now < opensAt ? undefined : schedule.openAt(now);
  if (open) {
    const end = Math.min(open.closesAt ?? Number.POSITIVE_INFINITY, closesAt);
    return { kind: 'open', closesAt: Number.isFinite(end) ? end : undefined, warning: warnOfDays(upgrade, schedule, now) };
  }
  const next = now < opensAt && schedule.openAt(opensAt) ? opensAt : schedule.nextOpening(Math.max(now, opensAt));
  const by = describe(upgrade, Annotation.windowSchedule);
  if (next === undefined || next >= closesAt) {
    const bound = Number.isFinite(closesAt)
      ? `before ${describe(upgrade, Annotation.windowEnd)}`
      : `after ${describe(upgrade, Annotation.windowStart)}`;
    return { kind: 'closed', message: `No window${whose} by ${by} opens ${bound}` };
  }
  const warning = warnOfDays(upgrade, schedule, now);
  const message = `Waiting for the window${whose}, which opens next at ${schedule.format(next)} by ${by}${warning ? `. ${warning}` : ''}`;
  return { kind: 'closed', message, opensAt: next };
}

/** Openings that a warning names. */
const MOST_OPENINGS = 5;

/** Cron takes two day fields for "either", and people mean "both": the next openings show it. */
function warnOfDays(upgrade: Annotated, schedule: WindowSchedule, now: number): string | undefined {
  if (!schedule.namesBothDays) return undefined;
  const openings: number[] = [];
  for (let time: number | undefined = now; time !== undefined && openings.length < MOST_OPENINGS; ) {
    time = schedule.nextOpening(time);
    if (time !== undefined) openings.push(time);
  }
  const at = openings.map((time) => schedule.format(time)).join(', ');
  return `${describe(upgrade, Annotation.windowSchedule)} names days of the month and of the week, and opens on each day that is either: next at ${at}. Leave one of the two fields at *`;
}

const describe = ({ metadata }: Annotated, key: string): string => `${metadata.annotations?.[key]} (annotation ${key})`;

/** A sentence on annotations that cannot be used, which begins with one of them, by the names that whoever is told knows them by. */
type Problem = (nameOf: (key: string) => string) => string;

const isProblem = (read: Windows | WindowSchedule | Problem | undefined): read is Problem => typeof read === 'function';

/** Says what is wrong with a window, by other names than those of its annotations; undefined where nothing is. */
export function explainWindow(upgrade: Annotated, nameOf: (key: string) => string): string | undefined {
  const windows = readWindows(upgrade);
  return isProblem(windows) ? windows(nameOf) : undefined;
}

/** Reads the annotations, or says what is wrong with them. */
function readWindows({ metadata: { annotations = {} } }: Annotated): Windows | Problem {
  for (const key of [Annotation.windowStart, Annotation.windowEnd]) {
    const value = annotations[key];
    if (value !== undefined && !Time.safeParse(value).success) return invalid(key, value, () => 'not an RFC 3339 time with zone');
  }
  const [start, end] = [annotations[Annotation.windowStart], annotations[Annotation.windowEnd]];
  const opensAt = start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(start);
  const closesAt = end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end);
  if (closesAt <= opensAt)
    return invalid(Annotation.windowEnd, end, (nameOf) => `not after ${nameOf(Annotation.windowStart)} ${JSON.stringify(start)}`);
  const schedule = readSchedule(annotations);
  return isProblem(schedule) ? schedule : { opensAt, closesAt, schedule };
}

const invalid =
  (key: string, value: string | undefined, why: Problem): Problem =>
  (nameOf) =>
    explain('InvalidWindow', `${nameOf(key)} is ${JSON.stringify(value)}, ${why(nameOf)}`);

const incomplete =
  (key: string, lacking: string): Problem =>
  (nameOf) =>
    explain('InvalidWindow', `${nameOf(key)} stands without ${nameOf(lacking)}`);

/** Schedules by their annotations: each is asked several times a second while an upgrade runs, and one that never opens takes long to read. */
const known = new Map<string, WindowSchedule | Problem>();
const MOST_KNOWN = 500;

function readSchedule(annotations: Readonly<Record<string, string>>): WindowSchedule | Problem | undefined {
  const [schedule, duration, timezone] = [
    annotations[WINDOW_KEYS.schedule],
    annotations[WINDOW_KEYS.duration],
    annotations[WINDOW_KEYS.timezone],
  ];
  if (schedule === undefined) {
    const stray = [WINDOW_KEYS.duration, WINDOW_KEYS.timezone].find((key) => annotations[key] !== undefined);
    return stray === undefined ? undefined : incomplete(stray, WINDOW_KEYS.schedule);
  }
  if (duration === undefined) return incomplete(WINDOW_KEYS.schedule, WINDOW_KEYS.duration);
  const parts = { schedule, duration, timezone: timezone ?? 'UTC' };
  const id = JSON.stringify(parts);
  const read = known.get(id) ?? tryRead(parts);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(id, read);
  return read;
}

function tryRead(parts: Parameters<typeof readWindowSchedule>[0]): WindowSchedule | Problem {
  const read = readWindowSchedule(parts);
  return 'field' in read ? invalid(WINDOW_KEYS[read.field], parts[read.field], () => read.why) : read;
}
