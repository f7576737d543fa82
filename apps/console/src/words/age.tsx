import { age } from '@flotilla/api/units';
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { now, tick } from './server-clock.ts';

const SECOND_MS = 1_000;
setInterval(() => {
  if (!document.hidden) tick();
}, SECOND_MS);

const KEY = 'flotilla-times';
/** Times as clocks show them rather than as ages. */
export const isByClock = signal(localStorage.getItem(KEY) === 'clock');

/** Shows times the other way, in all views, and after the next opening too. */
export function turnTimes(): void {
  isByClock.value = !isByClock.value;
  localStorage.setItem(KEY, isByClock.value ? 'clock' : 'age');
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const short = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dated = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
const minutes = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const HALF_DAY_MS = 12 * 3_600_000;

/** A time as the viewer's clock has it, with date, seconds and zone. */
export const absolute = (at: string | number): string => full.format(new Date(at));

/** The same in few letters: what is not of today has its date. */
export const clock = (at: number, present = now.value): string =>
  (Math.abs(present - at) < HALF_DAY_MS ? short : dated).format(new Date(at));

/** The same to the minute, for what is planned. */
export const minute = (at: number, present: number): string =>
  (Math.abs(present - at) < HALF_DAY_MS ? minutes : dated).format(new Date(at));

interface AgeProps {
  readonly at: string | null | undefined;
  /** Words around it, which differ for an age and a time of day. */
  readonly form?: 'bare' | 'ago' | 'for' | 'in';
}

/** The time since or until, which goes on; the time itself is its title, and what is shown where the viewer wants clocks. */
export function Age({ at, form = 'bare' }: AgeProps): JSX.Element {
  const time = Date.parse(at ?? '');
  if (Number.isNaN(time)) return <span class="age">{form === 'bare' ? '–' : 'at an unknown time'}</span>;
  return (
    <time class="age" dateTime={at ?? ''} title={absolute(time)}>
      {isByClock.value ? `${CLOCK_WORDS[form]}${clock(time)}` : ageText(time, form)}
    </time>
  );
}

/** A time that is known, and when the page read it: what is long past is not old for that. @param readAt milliseconds since the epoch */
export const AgeRead = ({ at, readAt }: { readonly at: string | null | undefined; readonly readAt: number | undefined }): JSX.Element => (
  <>
    <Age at={at} form="ago" />
    {readAt !== undefined && (
      <>
        , read <Age at={new Date(readAt).toISOString()} form="ago" />
      </>
    )}
  </>
);

const CLOCK_WORDS = { bare: '', ago: 'at ', for: 'since ', in: 'at ' } as const;

function ageText(time: number, form: NonNullable<AgeProps['form']>): string {
  const since = age(new Date(time).toISOString(), now.value);
  const left = age(new Date(now.value).toISOString(), time);
  return { bare: since, ago: `${since} ago`, for: `for ${since}`, in: `in ${left}` }[form];
}

/** The server's time by the second: whoever reads it while being drawn is drawn again. */
export const useNow = (): number => now.value;
