import { z } from 'zod';
import { readableList } from '../readable.ts';

/** Condition of this group: unlike metav1.Condition it may lack reason and message, and has no generation. */
export const ConfigCondition = z.looseObject({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTransitionTime: z.string().default(''),
});
export type ConfigCondition = z.output<typeof ConfigCondition>;

/** Conditions of other writers; unreadable ones are absent. */
export const configConditions = readableList(ConfigCondition, 128);
