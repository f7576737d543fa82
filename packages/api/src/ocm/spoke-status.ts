import { z } from 'zod';
import { Condition } from '../conditions.ts';
import { readable, readableList } from '../foreign.ts';
import { isJsonObject } from '../json.ts';

/** Number of conditions that are read per object: the last ones, because a hub appends its own. */
const MAX_CONDITIONS = 64;

/** Longest text of a condition that is read; servers with a schema accept none longer. */
const MAX_TEXT = 32_768;

/** Longest kept message, in characters: real components write less, thousands of spokes write one, and a status shows 256. */
const MAX_MESSAGE = 2_048;
/** Kept characters of a message's end, which tells a refusal from an existing object (`already exists`, `not found`). */
const MAX_END = 256;

const shorten = (message: string): string =>
  message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - MAX_END - 1)}…${message.slice(-MAX_END)}`;

/** Condition within the bounds of servers. A number too large for a double is clamped to the largest safe one. */
const SpokeCondition = Condition.extend({
  type: z.string().max(316),
  reason: z.string().max(1024),
  message: z.string().max(MAX_TEXT).transform(shorten),
  lastTransitionTime: z.string().max(64),
  observedGeneration: z
    .union([z.number(), z.bigint()])
    .transform((generation) => Math.min(Math.max(Math.trunc(Number(generation)), 0), Number.MAX_SAFE_INTEGER))
    .optional(),
});

/** True when some conditions are not read, because of their number or the length of a text. */
export const isBeyondReading = (conditions: unknown): boolean =>
  Array.isArray(conditions) &&
  (conditions.length > MAX_CONDITIONS ||
    conditions.some(
      (condition) =>
        isJsonObject(condition) && Object.values(condition).some((value) => typeof value === 'string' && value.length > MAX_TEXT),
    ));

/** Conditions of an object whose status a spoke writes. */
export const spokeConditions = readableList(SpokeCondition, MAX_CONDITIONS);

/** Status that a spoke writes; its other fields are kept unchanged. */
export const spokeStatus = <T extends z.ZodRawShape>(shape: T) => readable(z.looseObject(shape));
