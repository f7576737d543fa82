import { z } from 'zod';
import { Condition } from '../conditions.ts';

/** Most conditions of one object that are read: the last ones, where a hub adds its own. */
const MAX_CONDITIONS = 64;

/** A condition as far as servers bound it. A number that no double holds is as good as the largest that one does. */
const SpokeCondition = Condition.extend({
  type: z.string().max(316),
  reason: z.string().max(1024),
  message: z.string().max(32_768),
  lastTransitionTime: z.string().max(64),
  observedGeneration: z
    .number()
    .transform((generation) => Math.min(Math.max(Math.trunc(generation), 0), Number.MAX_SAFE_INTEGER))
    .optional(),
});

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

/** Conditions of an object whose status a spoke writes. */
export const spokeConditions = readableList(SpokeCondition, MAX_CONDITIONS);

/** A field that somebody else writes: absent when it cannot be read. */
export const readable = <T extends z.ZodType>(field: T) => field.optional().catch(undefined);

/** The status of an object as a spoke writes it; its other fields are kept as they came. */
export const spokeStatus = <T extends z.ZodRawShape>(shape: T) => readable(z.looseObject(shape));
