import { z } from 'zod';

/** Something that a tab says to the shared worker. */
export const Wish = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('join'), token: z.string() }),
  z.object({ kind: z.literal('look'), upgrade: z.string().optional() }),
  z.object({ kind: z.literal('see'), isSeen: z.boolean() }),
  z.object({ kind: z.literal('leave') }),
]);
export type Wish = z.output<typeof Wish>;
