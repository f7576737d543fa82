import { capabilitySets, featureSets } from '@flotilla/release';
import { z } from 'zod';
import { AccessOptions, JsonOptions } from '../hub/options.ts';
import { RegistryOptions } from '../registry/options.ts';

const oneOf = (names: readonly string[]) =>
  z.string().refine((name) => names.includes(name), { error: `must be one of ${names.join(', ')}` });
const name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,252}$/, { error: 'must be a name of letters, digits, ".", "_" and "-"' });

const PayloadOptions = RegistryOptions.extend({
  releaseImage: z.string().min(1, { error: 'is empty: give a pull spec' }).optional(),
  profile: name.default('self-managed-high-availability'),
  exclude: name.optional(),
  featureSet: oneOf(featureSets).default('Default'),
  featureGates: z
    .string()
    .transform((names) => names.split(',').filter((one) => one !== ''))
    .optional(),
  capabilities: oneOf([...capabilitySets.keys()]).default('vCurrent'),
  enableCapability: z.array(name).default([]),
  majorVersion: z.coerce
    .number({ error: 'must be a number such as 4' })
    .int({ error: 'must be a number such as 4' })
    .nonnegative()
    .optional(),
});
/** Options of reading a payload; the payload itself decides the rest. */
export type PayloadOptions = z.output<typeof PayloadOptions>;

/** Options of `payload included`. */
export const IncludedOptions = PayloadOptions.extend({ ...JsonOptions.shape, why: z.boolean().default(false) });
/** Options of `payload lint`. */
export const LintOptions = RegistryOptions.extend({ ...JsonOptions.shape, strict: z.boolean().default(false) });
/** Options of `payload diff`, whose cluster says the rest. */
export const DiffOptions = RegistryOptions.extend({
  ...PayloadOptions.pick({ releaseImage: true, profile: true, exclude: true }).shape,
  ...AccessOptions.shape,
  ...JsonOptions.shape,
  all: z.boolean().default(false),
});
export type DiffOptions = z.output<typeof DiffOptions>;
/** Options of `payload graph`. */
export const GraphOptions = PayloadOptions.extend({
  ...JsonOptions.shape,
  format: z.enum(['dot', 'mermaid', 'json'], { error: 'must be one of dot, mermaid, json' }).default('dot'),
  state: z.enum(['install', 'update', 'reconcile'], { error: 'must be one of install, update, reconcile' }).default('update'),
  seed: z.coerce
    .number({ error: 'must be a whole number' })
    .int({ error: 'must be a whole number' })
    .nonnegative({ error: 'must not be negative' })
    .default(0),
});
