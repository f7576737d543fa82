import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const name = z
  .string({ error: 'is required: name of the spoke, as in --name spoke-1' })
  .regex(DNS_LABEL, { error: 'must be at most 63 lower-case letters, digits and "-"' });
const file = z
  .string({ error: 'is required: path of a kubeconfig of its administrator, as in --hub-kubeconfig hub.kubeconfig' })
  .min(1, { error: 'is empty: give a path' });

const context = z.string().min(1, { error: 'is empty: name a context of the kubeconfig' }).optional();

const Image = z
  .string()
  .regex(/^[^@\s]+(@sha256:[a-f0-9]{64})?$/, { error: 'must be repository[:tag][@sha256:<64 hexadecimal digits>]' })
  .transform((image) => {
    const [rest = '', digest] = image.split('@');
    const tagAt = rest.indexOf(':', rest.lastIndexOf('/') + 1);
    return { repository: tagAt < 0 ? rest : rest.slice(0, tagAt), tag: tagAt < 0 ? undefined : rest.slice(tagAt + 1), digest };
  });

/** Name of the agent's chart beside a packaged command line. */
const PACKAGED = 'flotilla-spoke.tgz';

/** The agent's chart: beside a packaged command line, or in a checkout; undefined where there is neither. */
const spokeChart = (): string | undefined =>
  // A literal URL would make the bundler copy the folder.
  [PACKAGED, '../../../../charts/spoke'].map((path) => join(import.meta.dirname, path)).find(existsSync);

/** Options of a registration. */
export const JoinOptions = z
  .object({
    hubKubeconfig: file,
    hubContext: context,
    spokeKubeconfig: file.optional(),
    spokeContext: context,
    name,
    label: z
      .array(z.string().regex(/^[^=]+=[^=]*$/, { error: 'must be key=value' }))
      .default([])
      .transform((pairs) =>
        Object.fromEntries(pairs.map((pair): [string, string] => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])),
      ),
    hubServer: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
    hubCa: z.string().min(1).optional(),
    tokenDays: z.coerce
      .number({ error: 'must be a number of days' })
      .min(1 / 24, { error: 'must be at least an hour, 0.042' })
      .max(30, { error: 'must be at most 30: the agent renews its token, and the hub hands out no longer ones' })
      .default(30),
    image: Image.optional(),
    imageRegistry: z
      .string()
      .regex(/^[^@\s]+$/, { error: 'must be a registry and a path, as in registry.example.com/flotilla' })
      .optional(),
    namespace: name.default('flotilla'),
    values: z.string().min(1).optional(),
    chart: z
      .string()
      .min(1, { error: 'is empty: give a chart' })
      .optional()
      .transform((given, context) => {
        const chart = given ?? spokeChart();
        if (chart !== undefined) return chart;
        context.addIssue({ code: 'custom', message: 'is required: the chart of the agent, as in --chart flotilla-spoke-0.1.0.tgz' });
        return z.NEVER;
      }),
    timeoutSeconds: z.coerce.number({ error: 'must be a number of seconds' }).positive().default(60),
    print: z.boolean().default(false),
    dryRun: z.boolean().default(false),
  })
  .refine(({ print, spokeKubeconfig }) => print || spokeKubeconfig !== undefined, {
    path: ['spokeKubeconfig'],
    error: 'is required: path of a kubeconfig for the spoke, or use --print',
  })
  // Checked here because the chart would complain only after the hub has accepted the spoke.
  .refine(({ image, imageRegistry, values }) => [image, imageRegistry, values].some((one) => one !== undefined), {
    path: ['image'],
    error:
      'is required: image of the agent, as in --image registry.example.com/flotilla/spoke-agent:0.1.0 (npm run images -- --push fills a registry), or --image-registry, or --values',
  });
export type JoinOptions = z.output<typeof JoinOptions>;
