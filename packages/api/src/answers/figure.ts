import { z } from 'zod';

/** Certainty of a figure; a table prints `=`, `≤`, `~` and `?` for it. */
const Certainty = z.enum(['exact', 'at-most', 'forecast', 'unknown']);

/** A number that says how sure it is. */
export const Figure = z.object({
  certainty: Certainty.describe('How sure the value is.'),
  value: z.number().optional().describe('Absent exactly where the certainty is unknown.'),
  why: z.string().optional().describe('Why the value is no better than that.'),
});
export type Figure = z.output<typeof Figure>;
