import { z } from 'zod';
import { Condition } from '../conditions.ts';
import { isJsonObject } from '../json.ts';
import { readable, readableList } from '../readable.ts';

/** Most conditions of one object that are read: the last ones, where a hub adds its own. */
const MAX_CONDITIONS = 64;

/** Longest text of a condition that is read; servers with a schema take none that is longer. */
const MAX_TEXT = 32_768;

/** Most characters kept of a message: what real components say is shorter, thousands of spokes say it, and a status shows 256. */
const MAX_MESSAGE = 2_048;
/** Of these so many are its end, which tells a refusal from what was there already (`already exists`, `not found`). */
const MAX_END = 256;

const shorten = (message: string): string =>
  message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - MAX_END - 1)}…${message.slice(-MAX_END)}`;

/** A condition as far as servers bound it. A number that no double holds is as good as the largest that one does. */
const SpokeCondition = Condition.extend({
  type: z.string().max(316),
  reason: z.string().max(1024),
  message: z.string().max(MAX_TEXT).transform(shorten),
  lastTransitionTime: z.string().max(64),
  observedGeneration: z
    .number()
    .transform((generation) => Math.min(Math.max(Math.trunc(generation), 0), Number.MAX_SAFE_INTEGER))
    .optional(),
});

/** Whether of these conditions something is not even read, for their number or the length of a text. */
export const isBeyondReading = (conditions: unknown): boolean =>
  Array.isArray(conditions) &&
  (conditions.length > MAX_CONDITIONS ||
    conditions.some(
      (condition) =>
        isJsonObject(condition) && Object.values(condition).some((value) => typeof value === 'string' && value.length > MAX_TEXT),
    ));

/** Conditions of an object whose status a spoke writes. */
export const spokeConditions = readableList(SpokeCondition, MAX_CONDITIONS);

/** The status of an object as a spoke writes it; its other fields are kept as they came. */
export const spokeStatus = <T extends z.ZodRawShape>(shape: T) => readable(z.looseObject(shape));
