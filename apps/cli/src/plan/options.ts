import { z } from 'zod';
import { Duration, HubOptions } from '../hub/options.ts';
import { RegistryOptions } from '../registry/options.ts';

/** `6MB`, `800kB`, `1GB`, or bytes, as a number. */
const Rate = z
  .string()
  .regex(/^\d{1,9}(?:\.\d{1,3})?(?:kB|MB|GB)?$/, { error: 'must be bytes a second such as 6MB or 800kB' })
  .transform((text) => Number.parseFloat(text) * ({ kB: 1e3, MB: 1e6, GB: 1e9 }[text.slice(-2)] ?? 1))
  .refine((rate) => rate > 0, { error: 'must be more than 0' });

const Minutes = z.coerce.number({ error: 'must be a number of minutes' }).positive({ error: 'must be more than 0' }).max(100_000);

/** Options of `plan`. */
export const PlanOptions = HubOptions.extend({
  ...RegistryOptions.shape,
  file: z.string().min(1, { error: 'is empty: give a path' }).optional(),
  rate: Rate.optional(),
  batchMinutes: Minutes.optional(),
  images: z.boolean().default(true),
  registriesConf: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  save: z.boolean().default(false),
  inspect: z.boolean().default(false),
  inspectTimeout: Duration.prefault('3m'),
  pullerImage: z.string().trim().min(1, { error: 'is empty: name an image' }).max(512).optional(),
  dryRun: z.boolean().default(false),
  yes: z.boolean().default(false),
});
export type PlanOptions = z.output<typeof PlanOptions>;
