import { z } from 'zod';

const Environment = z.object({
  FLOTILLA_CHAOS_MOMENTS: z.coerce.number().int().min(2).default(6),
  FLOTILLA_CHAOS_SEED: z.coerce.number().int().nonnegative().default(20_261_121),
});

/** How much chaos is wanted; default: 6 moments. Throws a ZodError that names the variable. */
export function readChaosConfig(environment: NodeJS.ProcessEnv = process.env): { readonly moments: number; readonly seed: number } {
  const { FLOTILLA_CHAOS_MOMENTS: moments, FLOTILLA_CHAOS_SEED: seed } = Environment.parse(environment);
  return { moments, seed };
}
