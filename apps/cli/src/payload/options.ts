import { FlotillaError } from '@flotilla/api';
import { capabilitySets, featureSets } from '@flotilla/release';
import { z } from 'zod';

/** Flags and meanings of every command that reads a payload. */
export const payloadFlags = [
  ['--release-image <image>', 'pull spec that fills in the templates; default: that of the image, else release.invalid/release'],
  ['--profile <profile>', 'profile of the cluster (default self-managed-high-availability)'],
  ['--exclude <identifier>', 'leave out what carries exclude.release.openshift.io/<identifier>: "true"'],
  ['--feature-set <set>', `feature set of the cluster: ${featureSets.join(', ')} (default Default)`],
  [
    '--feature-gates <names>',
    'feature gates that are on, with commas between them; default: those the payload turns on for the feature set',
  ],
  ['--capabilities <set>', `baseline of capabilities: ${[...capabilitySets.keys()].join(', ')} (default vCurrent)`],
  ['--enable-capability <name...>', 'capabilities beyond the baseline'],
  ['--major-version <n>', "major version of the cluster; default: the payload's own"],
] as const;

/** Flags and meanings of every command that may read a payload from a registry. */
export const registryFlags = [
  ['--pull-secret <file>', "credentials of the registry, as Docker's config.json"],
  ['--registry-ca <file>', "PEM of the registry's authority"],
  ['--insecure-registry <host...>', 'registries that are spoken to over plain HTTP'],
] as const;

const RegistryOptions = z.object({
  pullSecret: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  registryCa: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  insecureRegistry: z.array(z.string()).default([]),
});
/** Options of a registry. */
export type RegistryOptions = z.output<typeof RegistryOptions>;

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
/** Options of reading a payload, complete except for the payload's own settings. */
export type PayloadOptions = z.output<typeof PayloadOptions>;

/** Options of `payload included`. */
export const IncludedOptions = PayloadOptions.extend({ json: z.boolean().default(false), why: z.boolean().default(false) });
/** Options of `payload lint`. */
export const LintOptions = RegistryOptions.extend({ json: z.boolean().default(false), strict: z.boolean().default(false) });
/** Options of `payload diff`, whose cluster has the other settings. */
export const DiffOptions = RegistryOptions.extend({
  ...PayloadOptions.pick({ releaseImage: true, profile: true, exclude: true }).shape,
  kubeconfig: z.string().min(1, { error: 'is empty: give a file' }),
  json: z.boolean().default(false),
  all: z.boolean().default(false),
});
export type DiffOptions = z.output<typeof DiffOptions>;
/** Options of `payload graph`. */
export const GraphOptions = PayloadOptions.extend({
  format: z.enum(['dot', 'mermaid', 'json'], { error: 'must be one of dot, mermaid, json' }).default('dot'),
  state: z.enum(['install', 'update', 'reconcile'], { error: 'must be one of install, update, reconcile' }).default('update'),
  seed: z.coerce
    .number({ error: 'must be a whole number' })
    .int({ error: 'must be a whole number' })
    .nonnegative({ error: 'must not be negative' })
    .default(0),
});

/**
 * Checks the options from commander.
 * @throws FlotillaError `FLOTILLA_CONFIG` naming every wrong option and its fix
 */
export function readOptions<T>(schema: z.ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${flagOf(String(path[0]))}: ${message}`);
  throw new FlotillaError('FLOTILLA_CONFIG', problems.join('; '));
}

const flagOf = (key: string): string => `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
