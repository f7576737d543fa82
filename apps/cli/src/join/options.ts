import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { context } from '../hub/options.ts';
import { flag, option } from '../option.ts';

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const name = z
  .string({ error: 'is required: name of the spoke, as in --name spoke-1' })
  .regex(DNS_LABEL, { error: 'must be at most 63 lower-case letters, digits and "-"' });
const file = z
  .string({ error: 'is required: path of a kubeconfig of its administrator, as in --hub-kubeconfig hub.kubeconfig' })
  .min(1, { error: 'is empty: give a path' });

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
    hubKubeconfig: option('<file>', file, 'kubeconfig of an administrator of the hub'),
    hubContext: option('<name>', context, 'context of that kubeconfig (default its current one)'),
    spokeKubeconfig: option('<file>', file.optional(), 'kubeconfig of an administrator of the spoke; not needed with --print'),
    spokeContext: option('<name>', context, 'context of that kubeconfig (default its current one)'),
    name: option('<name>', name, 'name of the spoke: its ManagedCluster, and its namespace on the hub'),
    label: option(
      '<key=value...>',
      z
        .array(z.string().regex(/^[^=]+=[^=]*$/, { error: 'must be key=value' }))
        .default([])
        .transform((pairs) =>
          Object.fromEntries(pairs.map((pair): [string, string] => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])),
        ),
      'labels of the ManagedCluster',
    ),
    hubServer: option(
      '<url>',
      z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
      'address of the hub as the spoke reaches it; default that of --hub-kubeconfig',
    ),
    hubCa: option('<file>', z.string().min(1).optional(), 'PEM of the authority of that address; default that of --hub-kubeconfig'),
    tokenDays: option(
      '<n>',
      z.coerce
        .number({ error: 'must be a number of days' })
        .min(1 / 24, { error: 'must be at least an hour, 0.042' })
        .max(30, { error: 'must be at most 30: the agent renews its token, and the hub hands out no longer ones' })
        .default(30),
      'days until the token runs out unless the agent renews it, which it does from half of them on',
    ),
    image: option(
      '<image>',
      Image.optional(),
      "the agent's image: repository[:tag][@sha256:...]; required unless --image-registry or --values says where it is",
    ),
    imageRegistry: option(
      '<registry>',
      z
        .string()
        .regex(/^[^@\s]+$/, { error: 'must be a registry and a path, as in registry.example.com/flotilla' })
        .optional(),
      'registry and path of all images, for the image of the chart, as in registry.example.com/flotilla',
    ),
    namespace: option('<namespace>', name.default('flotilla'), "the agent's namespace on the spoke", 'n'),
    values: option('<file>', z.string().min(1).optional(), 'more values for the chart'),
    chart: option(
      '<chart>',
      z
        .string()
        .min(1, { error: 'is empty: give a chart' })
        .optional()
        .transform((given, context) => {
          const chart = given ?? spokeChart();
          if (chart !== undefined) return chart;
          context.addIssue({ code: 'custom', message: 'is required: the chart of the agent, as in --chart flotilla-spoke-0.1.0.tgz' });
          return z.NEVER;
        }),
      'chart of the agent: folder, archive or oci:// address (default: the one of this release)',
    ),
    timeoutSeconds: option(
      '<n>',
      z.coerce.number({ error: 'must be a number of seconds' }).positive().default(60),
      'how long to wait for the hub to let the spoke in',
    ),
    print: flag('write the objects for the spoke to standard output, for kubectl apply -f -, instead of installing them'),
    dryRun: flag('have hub and spoke check what would be written, write nothing and say what it would do'),
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
