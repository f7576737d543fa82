import { z } from 'zod';

const Environment = z.object({
  FLOTILLA_PAYLOAD_CHAOS_KILLS: z.coerce.number().int().min(1).default(4),
  FLOTILLA_PAYLOAD_CHAOS_CUTS: z.coerce.number().int().min(1).default(3),
  FLOTILLA_PAYLOAD_CHAOS_SEED: z.coerce.number().int().nonnegative().default(7),
});

/** How much chaos is wanted in updates of a cluster. */
interface PayloadChaosConfig {
  /** Moments at which the operator is killed. */
  readonly kills: number;
  /** Moments at which the API server is cut off. */
  readonly cuts: number;
  readonly seed: number;
}

/** Reads it; default: 4 kills and 3 cuts. Throws a ZodError that names the variable. */
export function readPayloadChaos(environment: NodeJS.ProcessEnv = process.env): PayloadChaosConfig {
  const { FLOTILLA_PAYLOAD_CHAOS_KILLS: kills, ...rest } = Environment.parse(environment);
  return { kills, cuts: rest.FLOTILLA_PAYLOAD_CHAOS_CUTS, seed: rest.FLOTILLA_PAYLOAD_CHAOS_SEED };
}
