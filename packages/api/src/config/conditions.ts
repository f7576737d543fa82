import { z } from 'zod';
import { readableList } from '../readable.ts';

/** A condition of this group: unlike metav1.Condition it may be without reason and message, and knows no generation. */
export const ConfigCondition = z.looseObject({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTransitionTime: z.string().default(''),
});
export type ConfigCondition = z.output<typeof ConfigCondition>;

/** Conditions that somebody else writes; what cannot be read is missing. */
export const configConditions = readableList(ConfigCondition, 128);
