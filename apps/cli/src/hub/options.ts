import { MAX_TIMEOUT_MS } from '@flotilla/pace';
import { z } from 'zod';

const path = z.string().min(1, { error: 'is empty: give a path' });
const DNS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const name = z.string().regex(DNS_NAME, { error: 'must be a name of lower-case letters, digits, "-" and "."' });

/** `90s`, `30m`, `4h`, `1h30m` as milliseconds. */
export const Duration = z
  .string()
  .regex(/^(?:0|(?:\d{1,6}[smh]){1,3})$/, { error: 'must be a time such as 90s, 30m or 4h' })
  .transform((text) => (text.match(/\d{1,6}[smh]/g) ?? []).reduce((sum, part) => sum + Number(part.slice(0, -1)) * msOf(part.at(-1)), 0))
  .refine((ms) => ms <= MAX_TIMEOUT_MS, { error: 'is too long: give 596h at most' });

const msOf = (unit: string | undefined): number => (unit === 'h' ? 3_600_000 : unit === 'm' ? 60_000 : 1_000);

const user = z.string().min(1, { error: 'is empty: name a user or a group' });

/** A server, and as whom it is asked. */
export const AccessOptions = z.object({
  kubeconfig: path.optional(),
  context: z.string().min(1, { error: 'is empty: name a context of the kubeconfig' }).optional(),
  as: user.optional(),
  asGroup: z.array(user).optional(),
  asUid: user.optional(),
  requestTimeout: Duration.optional(),
});
export type AccessOptions = z.output<typeof AccessOptions>;

/** `-o json`, and its older spelling. */
export const JsonOptions = z.object({ output: z.enum(['json'], { error: 'must be json' }).optional(), json: z.boolean().default(false) });

/** True where the answer is to be JSON. */
export const wantsJson = ({ output, json }: z.output<typeof JsonOptions>): boolean => json || output === 'json';

const output = (formats: readonly string[]) =>
  z.string().refine((format) => formats.includes(format), { error: `must be ${formats.join(' or ')}` });

/** Options of every command about ClusterGroupUpgrades. */
export const HubOptions = AccessOptions.extend({
  namespace: name.optional(),
  output: output(['wide', 'json']).optional(),
  hubNamespace: name.default('flotilla'),
});
export type HubOptions = z.output<typeof HubOptions>;
