import { WindowParts } from '@flotilla/api/answers';

type Part = keyof WindowParts;

/** A field of the form for a part of a window: a time is one of the viewer's clock, without a zone. */
export function fieldOf(part: Part, value: string | undefined): string {
  if (value === undefined || (part !== 'start' && part !== 'end')) return value ?? '';
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? '' : new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The window that fields say. What nobody has touched stays as it was written: a field holds no seconds and no zone. */
export function windowOf(fields: Iterable<readonly [string, unknown]>, was: WindowParts): WindowParts {
  const given = new Map(fields);
  const written = (part: Part): string | undefined => {
    const field = given.get(part);
    if (typeof field !== 'string' || field === '') return undefined;
    if (field === fieldOf(part, was[part])) return was[part];
    return part === 'start' || part === 'end' ? new Date(field).toISOString() : field;
  };
  const parts = WindowParts.keyof().options.map((part) => [part, written(part)] as const);
  return Object.fromEntries(parts.filter(([, value]) => value !== undefined));
}
