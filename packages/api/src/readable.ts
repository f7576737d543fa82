import { z } from 'zod';

/**
 * A list that somebody else writes, entry by entry: what cannot be read is left out, and of too many the last are kept. It
 * never fails: an object whose status a spoke writes must stay readable whatever the spoke writes, because rights of the
 * spoke are in its other fields. What is left out is missing, so that whoever waits for it goes on waiting.
 */
export const readableList = <T extends z.ZodType>(entry: T, most: number) =>
  z.preprocess((value: unknown) => {
    if (!Array.isArray(value)) return undefined;
    const entries: readonly unknown[] = value.length > most ? value.slice(-most) : value;
    return entries.flatMap((one) => {
      const parsed = entry.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    });
  }, z.array(z.custom<z.output<T>>()).optional());

/** A field that somebody else writes: absent when it cannot be read. */
export const readable = <T extends z.ZodType>(field: T) => field.optional().catch(undefined);
