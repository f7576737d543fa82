import { MAX_TIMEOUT_MS } from '@flotilla/pace';
import { z } from 'zod';
import { flag, option, text } from '../option.ts';

const DNS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const name = z.string().regex(DNS_NAME, { error: 'must be a name of lower-case letters, digits, "-" and "."' });

/** `90s`, `30m`, `4h`, `1h30m` as milliseconds. */
export const Duration = z
  .string()
  .regex(/^(?:0|(?:\d{1,6}[smh]){1,3})$/, { error: 'must be a time such as 90s, 30m or 4h' })
  .transform((text) => (text.match(/\d{1,6}[smh]/g) ?? []).reduce((sum, part) => sum + Number(part.slice(0, -1)) * msOf(part.at(-1)), 0))
  .refine((ms) => ms <= MAX_TIMEOUT_MS, { error: 'is too long: give 596h at most' });

const msOf = (unit: string | undefined): number => (unit === 'h' ? 3_600_000 : unit === 'm' ? 60_000 : 1_000);

const user = text('name a user or a group');
/** A context of a kubeconfig. */
export const context = text('name a context of the kubeconfig');

/** A server by its kubeconfig, and as whom it is asked. @param kubeconfig the meaning of that option */
export const accessBy = (kubeconfig: string) => ({
  kubeconfig: option('<file>', text('give a path'), kubeconfig),
  context: option('<name>', context, 'context of the kubeconfig (default its current one)'),
  as: option('<user>', user, 'user to act as, whose rights then count'),
  asGroup: option('<group...>', z.array(user.unwrap()).optional(), 'groups of that user'),
  asUid: option('<uid>', user, 'uid of that user'),
  requestTimeout: option(
    '<duration>',
    Duration.optional(),
    'how long a call to the server may take, such as 5s or 1m (default 30s; 0: as long as it takes)',
  ),
});
/** The same for most commands. */
export const access = accessBy('kubeconfig to use (default KUBECONFIG, else ~/.kube/config)');
/** A server, and as whom it is asked. */
export const AccessOptions = z.object(access);
export type AccessOptions = z.output<typeof AccessOptions>;

/** Options of `flotilla version`. */
export const VersionOptions = z.object(accessBy('kubeconfig of a hub or spoke'));

/** A file of the command line. */
export const file = text('give a file');

/** The format of an answer. */
const format = <const F extends string>(formats: readonly F[]) => z.enum(formats, { error: `must be ${formats.join(' or ')}` }).optional();
/** JSON or text. */
export const json = { output: option('<format>', format(['json']), 'json: the answer by its schema', 'o') };
/** JSON, or text of two widths. */
export const formats = {
  output: option('<format>', format(['wide', 'json']), 'wide: more columns, nothing cut; json: the answer by its schema', 'o'),
};
/** `-o json`, and its older spelling. @param what the JSON is */
export const asJson = (what: string) => ({
  output: option('<format>', format(['json']), `json: ${what}`, 'o'),
  json: flag('the same as -o json'),
});
/** Options of commands that answer about one cluster. */
export const AnswerOptions = z.object({ ...access, ...asJson('the answer by its schema') });
/** True where the answer is to be JSON. */
export const wantsJson = ({ output, json }: { readonly output?: 'json' | undefined; readonly json: boolean }): boolean =>
  json || output === 'json';

/** The namespace of an upgrade. */
export const namespace = {
  namespace: option('<namespace>', name.optional(), "namespace of the ClusterGroupUpgrade (default the context's, else default)", 'n'),
};
/** The hub's own namespace. */
export const hub = {
  hubNamespace: option('<namespace>', name.default('flotilla'), 'namespace of the Lease by which the hub leads'),
};
/** Options of commands that answer about upgrades in more than one format. */
const answering = { ...formats, ...hub, ...access };
/** Options of `why`. */
export const WhyOptions = z.object({ ...namespace, ...answering });
/** Options of `limits`. */
export const LimitsOptions = z.object(answering);
/** Options of a command that changes something. */
export const writing = {
  dryRun: flag('let the server check the change, say what it would touch, and store nothing'),
  yes: flag('do not ask; needed where nobody can be asked', 'y'),
};

/** Options of `status`. */
export const StatusOptions = z.object({
  ...namespace,
  allNamespaces: flag('upgrades of all namespaces', 'A'),
  selector: option('<selector>', text('give labels such as site=north'), 'upgrades with these labels', 'l'),
  watch: flag('go on until the upgrade ends: redraws on a terminal, a line per change in a pipe', 'w'),
  ...answering,
});
export type StatusOptions = z.output<typeof StatusOptions>;

const Goal = z.string().regex(/^(?:cached|done|batch=[1-9]\d{0,4})$/, { error: 'must be cached, done or batch=N' });

/** Options of `wait`. */
export const WaitOptions = z.object({
  for: option('<state>', Goal.default('done'), 'cached, done, or batch=N: that batch has begun'),
  timeout: option('<duration>', Duration.prefault('30m'), 'how long, such as 90s, 30m, 4h (default 30m; 0 looks once)'),
  ...namespace,
  ...json,
  ...hub,
  ...access,
});
export type WaitOptions = z.output<typeof WaitOptions>;
