/** Bytes and seconds of answers, as a person reads them. It imports no schema, so that a page's late parts load none. */
import type { Figure } from './answers/figure.ts';

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Bytes with three digits: `3.41 GB`. */
export function bytes(count: number): string {
  let [value, unit] = [count, 0];
  // From here on three digits round up to the next unit.
  while (value >= (unit === 0 ? 1000 : 999.5) && unit < BYTES.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${BYTES[unit]}`;
}

/** Seconds as a person says them: `40 s`, `6 min`, `2 h 10`, `3 d 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(Math.round(seconds), 0);
  if (whole < 120) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${String(minutes % 60).padStart(2, '0')}`;
  return `${Math.floor(hours / 24)} d${hours % 24 === 0 ? '' : ` ${hours % 24} h`}`;
}

/** Time since an RFC 3339 time; `?` for one that is missing or cannot be read. */
export function age(time: string | null | undefined, now: number): string {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? '?' : duration((now - at) / 1000);
}

const signs = { exact: '', 'at-most': '≤ ', forecast: '~ ', unknown: '? ' } as const;

/** A figure with the sign of its certainty: `~ 24 min`, `?`. */
export const figure = ({ certainty, value }: Figure, shown: (value: number) => string): string =>
  value === undefined ? '?' : `${signs[certainty]}${shown(value)}`;

/** The time until an end. One that had to come by now is overdue. */
export const endFigure = (seconds: Figure): string =>
  seconds.certainty === 'at-most' && seconds.value === 0 ? 'overdue' : figure(seconds, duration);
