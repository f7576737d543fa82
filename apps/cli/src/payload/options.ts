import { z } from 'zod';
import { access, asJson } from '../hub/options.ts';
import { flag, option, text } from '../option.ts';
import { registry } from '../registry/options.ts';

const name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,252}$/, { error: 'must be a name of letters, digits, ".", "_" and "-"' });

const Count = z.coerce.number({ error: 'must be a whole number' }).int({ error: 'must be a whole number' });
const Major = z.coerce.number({ error: 'must be a number such as 4' }).int({ error: 'must be a number such as 4' }).nonnegative();
const Names = z.string().transform((names) => names.split(',').filter((one) => one !== ''));

const templating = {
  releaseImage: option(
    '<image>',
    text('give a pull spec'),
    'pull spec that fills in the templates; default: that of the image, else release.invalid/release',
  ),
  profile: option('<profile>', name.default('self-managed-high-availability'), 'profile of the cluster'),
  exclude: option('<identifier>', name.optional(), 'leave out what carries exclude.release.openshift.io/<identifier>: "true"'),
};
const payload = {
  ...templating,
  // The sets are of `@flotilla/release`, whose import would make --help slow: the commands check them.
  featureSet: option('<set>', z.string().default('Default'), 'feature set of the cluster'),
  featureGates: option(
    '<names>',
    Names.optional(),
    'feature gates that are on, with commas between them; default: those the payload turns on for the feature set',
  ),
  capabilities: option('<set>', z.string().default('vCurrent'), 'baseline of capabilities, such as None or v4.18'),
  enableCapability: option('<name...>', z.array(name).default([]), 'capabilities beyond the baseline'),
  majorVersion: option('<n>', Major.optional(), "major version of the cluster; default: the payload's own"),
  ...registry,
};
const PayloadOptions = z.object(payload);
/** Options of reading a payload; the payload itself decides the rest. */
export type PayloadOptions = z.output<typeof PayloadOptions>;

/** Options of `payload included`. */
export const IncludedOptions = z.object({
  ...payload,
  ...asJson('a list of {file, kind, namespace, name}'),
  why: flag('list what is left out instead, and why'),
});
/** Options of `payload lint`. */
export const LintOptions = z.object({
  ...registry,
  ...asJson('a list of {level, rule, file, line, message}'),
  strict: flag('end with 3 for warnings too'),
});
/** Options of `payload diff`, whose cluster says the rest. */
export const DiffOptions = z.object({
  ...access,
  ...templating,
  ...registry,
  ...asJson('every object'),
  all: flag('as text: list what is left alone, too'),
});
export type DiffOptions = z.output<typeof DiffOptions>;
/** Options of `payload graph`. */
export const GraphOptions = z.object({
  ...payload,
  format: option(
    '<format>',
    z.enum(['dot', 'mermaid', 'json'], { error: 'must be one of dot, mermaid, json' }).default('dot'),
    'dot, mermaid or json',
  ),
  ...asJson('the same as --format json'),
  state: option(
    '<state>',
    z.enum(['install', 'update', 'reconcile'], { error: 'must be one of install, update, reconcile' }).default('update'),
    'install, update or reconcile',
  ),
  seed: option(
    '<n>',
    Count.nonnegative({ error: 'must not be negative' }).default(0),
    'of reconciling: how many tries failed before; the order follows it',
  ),
});
