import { readNamePattern } from '@flotilla/api';
import { UPGRADE_CONFIG_NAME, UpgradeType } from '@flotilla/api/managed';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { z } from 'zod';

/** Whole numbers of at least `least`; more than a year of minutes is a mistake. */
const whole = (least: number, most = 525_600) => {
  const wanted = { error: `must be a whole number from ${least} to ${most}` };
  return z.number(wanted).int(wanted).min(least, wanted).max(most, wanted);
};

/** YAML of Go programs reads `yes` as true. */
const flag = () =>
  z
    .union([z.boolean(), z.enum(['yes', 'no', 'on', 'off'])], { error: 'must be true or false' })
    .default(false)
    .transform((value) => value === true || value === 'yes' || value === 'on');

const names = () => z.array(z.string({ error: 'must be a text' }), { error: 'must be a list of texts' }).default([]);

const regularExpression = z.string({ error: 'must be a text' }).superRefine((text, context) => {
  const read = readGoExpression(text);
  if (typeof read === 'string') context.addIssue({ code: 'custom', message: `is no regular expression of Go: ${read}` });
});

const namePattern = z
  .string({ error: 'must be a text' })
  .refine((text) => readNamePattern(text) !== undefined, { error: 'is no pattern: close every [ and give \\ something to stand before' });

const isHttp = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

const ConfigManager = z
  .object({
    source: z
      .string({ error: 'must be OCM or LOCAL' })
      .transform((text) => text.toUpperCase())
      .pipe(z.enum(['', 'OCM', 'LOCAL'], { error: 'must be OCM or LOCAL' }))
      .transform((source) => source || undefined)
      .optional(),
    ocmBaseUrl: z.string({ error: 'must be a URL' }).optional(),
    localConfigName: z.string({ error: 'must be a text' }).optional(),
    watchInterval: whole(1).default(1),
  })
  .superRefine(({ source, ocmBaseUrl, localConfigName }, context) => {
    if (source === 'OCM' && !isHttp(ocmBaseUrl ?? ''))
      context.addIssue({ code: 'custom', path: ['ocmBaseUrl'], message: 'must be an http or https URL when source is OCM' });
    if (source === 'LOCAL' && localConfigName !== UPGRADE_CONFIG_NAME)
      context.addIssue({
        code: 'custom',
        path: ['localConfigName'],
        message: `please use ${UPGRADE_CONFIG_NAME} as the upgrade config name`,
      });
  });

const Http = z
  .object({
    timeout: whole(0, 60).default(15),
    urls: z.array(z.string().refine(isHttp, { error: 'must be an http or https URL' })).default([]),
  })
  .superRefine(({ timeout, urls }, context) => {
    if (urls.length > 0 && timeout === 0)
      context.addIssue({ code: 'custom', path: ['timeout'], message: 'must be at least 1 when there are urls' });
  });

/**
 * `config.yaml` of the operator, with the documented defaults (spec/muo 9.2); times are in minutes, that of a URL in seconds. Unknown keys are passed
 * over, as in the reference.
 */
export const OperatorConfigFile = z.object({
  // A provider creates UpgradeConfigs of this type.
  upgradeType: z
    .enum(['', ...UpgradeType.options], { error: 'must be OSD or ARO' })
    .default('')
    .transform((type) => type || 'ARO'),
  configManager: ConfigManager.prefault({}),
  validation: z.object({ cincinnati: flag() }).prefault({}),
  environment: z.object({ fedramp: flag() }).prefault({}),
  maintenance: z
    .object({
      controlPlaneTime: whole(1).default(90),
      ignoredAlerts: z.object({ controlPlaneCriticals: names() }).prefault({}),
    })
    .prefault({}),
  scale: z.object({ timeOut: whole(1).default(30), extraMachinePools: z.array(namePattern).default([]) }).prefault({}),
  // A 0 turns the notice of a delay, or the giving up, off.
  upgradeWindow: z.object({ delayTrigger: whole(0).default(30), timeOut: whole(0).default(120) }).prefault({}),
  nodeDrain: z
    .object({
      // The one number that has no documented default.
      timeOut: whole(1),
      expectedNodeDrainTime: whole(1).default(8),
      disableDrainStrategies: flag(),
      ignoredNamespacePatterns: z.array(regularExpression).default([]),
    })
    .prefault({} as never),
  healthCheck: z.object({ ignoredCriticals: names(), ignoredNamespaces: names() }).prefault({}),
  extDependencyAvailabilityChecks: z.object({ http: Http.prefault({}) }).prefault({}),
  // The reference passes over this key of ours: a proof that every node has the images is required, and may be so old.
  cacheProof: z.object({ required: flag(), maxAge: whole(1).default(1_440) }).prefault({}),
  featureGate: z.object({ enabled: names() }).prefault({}),
});
/** Configuration of the operator, as its ConfigMap has it. */
export type OperatorConfig = Readonly<z.output<typeof OperatorConfigFile>>;

const INTRODUCTION = 'error parsing regexp: ';
/** Characters: a longer one would keep a program for a quarter of a second when it is read, and again for each namespace. */
const MAX_LENGTH = 10_000;

/**
 * Reads an expression as the reference does: what administrators wrote for that one means the same here. A text says why it is none. Tests take time
 * linear in text times expression, whatever either is.
 */
export function readGoExpression(text: string): Pick<RegExp, 'test'> | string {
  if (text.length > MAX_LENGTH) return `has ${text.length} characters, at most ${MAX_LENGTH} are read; write several expressions`;
  try {
    const expression = RE2JS.compile(text);
    return { test: (given) => expression.matcher(given).find() };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error.message.replace(INTRODUCTION, '');
    throw error;
  }
}
