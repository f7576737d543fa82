import { z } from 'zod';

const Environment = z.object({
  FLOTILLA_CHAOS_MOMENTS: z.coerce.number().int().min(2).default(6),
  FLOTILLA_CHAOS_SPOKES: z.coerce.number().int().min(10).default(20),
  FLOTILLA_CHAOS_SEED: z.coerce.number().int().nonnegative().default(20_261_121),
  FLOTILLA_CHAOS_TRANSPORT: z.enum(['work', 'actions']).optional(),
});

/** How much chaos is wanted. */
interface ChaosConfig {
  readonly moments: number;
  /** Upgraded in five batches. */
  readonly spokes: number;
  readonly seed: number;
  /** Of pre-caching; absent: as the hub chooses. */
  readonly transport: 'work' | 'actions' | undefined;
}

/** Reads it; default: 6 moments with 20 spokes. Throws a ZodError that names the variable. */
export function readChaosConfig(environment: NodeJS.ProcessEnv = process.env): ChaosConfig {
  const {
    FLOTILLA_CHAOS_MOMENTS: moments,
    FLOTILLA_CHAOS_SPOKES: spokes,
    FLOTILLA_CHAOS_SEED: seed,
    FLOTILLA_CHAOS_TRANSPORT: transport,
  } = Environment.parse(environment);
  return { moments, spokes, seed, transport };
}
