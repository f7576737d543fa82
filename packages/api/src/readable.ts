import { z } from 'zod';
import { foreign } from './foreign.ts';

/**
 * Parses a list of another writer entry by entry: unreadable entries are left out, and of too many the last are kept. It never fails, because rights
 * of a spoke are in other fields of the object whose status it writes. A left-out entry is absent, so its waiters go on waiting.
 */
export const readableList = <T extends z.ZodType>(entry: T, most: number) => {
  const lenient = foreign(entry);
  return z.preprocess((value: unknown) => {
    if (!Array.isArray(value)) return undefined;
    const entries: readonly unknown[] = value.length > most ? value.slice(-most) : value;
    return entries.flatMap((one) => {
      const parsed = lenient.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    });
  }, z.array(z.custom<z.output<T>>()).optional());
};

/** Parses a field of another writer: an unreadable one is absent. */
export const readable = <T extends z.ZodType>(field: T) => foreign(field).optional().catch(undefined);
