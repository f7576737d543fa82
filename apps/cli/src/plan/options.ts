import { z } from 'zod';
import { access, Duration, file, formats, hub, namespace } from '../hub/options.ts';
import { flag, option, text } from '../option.ts';
import { registry } from '../registry/options.ts';

/** `6MB`, `800kB`, `1GB`, or bytes, as a number. */
const Rate = z
  .string()
  .regex(/^\d{1,9}(?:\.\d{1,3})?(?:kB|MB|GB)?$/, { error: 'must be bytes a second such as 6MB or 800kB' })
  .transform((text) => Number.parseFloat(text) * ({ kB: 1e3, MB: 1e6, GB: 1e9 }[text.slice(-2)] ?? 1))
  .refine((rate) => rate > 0, { error: 'must be more than 0' });

const Minutes = z.coerce.number({ error: 'must be a number of minutes' }).positive({ error: 'must be more than 0' }).max(100_000);

/** Options of `plan`. */
export const PlanOptions = z.object({
  file: option(
    '<file>',
    text('give a path'),
    'a file, folder or - (standard input) with a ClusterGroupUpgrade that is not applied; a PreCachingConfig and templates beside it count too',
    'f',
  ),
  rate: option('<bytes>', Rate.optional(), 'what a cluster pulls in a second, such as 6MB'),
  batchMinutes: option('<n>', Minutes.optional(), 'how long a batch takes'),
  images: option('', z.boolean().default(true), 'look up no images in the registry'),
  registriesConf: option('<file>', file, "mirrors, in the containers' registries.conf"),
  inspect: flag('ask a node of each cluster what it has, by a Job that reads and is taken away: the only form that writes'),
  inspectTimeout: option('<duration>', Duration.prefault('3m'), 'how long a cluster may take to answer'),
  pullerImage: option(
    '<image>',
    z.string().trim().min(1, { error: 'is empty: name an image' }).max(512).optional(),
    "image of that Job (default that of the PreCachingConfig, else the hub's)",
  ),
  dryRun: flag('with --inspect: let the server check what would be written, and store nothing'),
  yes: flag('with --inspect: do not ask; needed where nobody can be asked', 'y'),
  save: flag('print the digest that binds the upgrade to this plan (annotation flotilla.io/plan)'),
  ...namespace,
  ...formats,
  ...registry,
  ...hub,
  ...access,
});
export type PlanOptions = z.output<typeof PlanOptions>;
