import { z } from 'zod';

/** Options of commands that read a registry. */
export const RegistryOptions = z.object({
  pullSecret: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  registryCa: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  insecureRegistry: z.array(z.string()).default([]),
});
/** Access to a registry. */
export type RegistryOptions = z.output<typeof RegistryOptions>;
