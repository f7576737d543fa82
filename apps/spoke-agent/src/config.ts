import { DEFAULT_WORK_CADENCE, FeedbackMode, type WorkCadence } from '@flotilla/agent';
import { FlotillaError } from '@flotilla/api';
import { Command, Option } from 'commander';
import { z } from 'zod';

/** How the agent runs; complete and frozen. */
export interface AgentConfig {
  /** Name of the ManagedCluster and of its namespace on the hub. */
  readonly clusterName: string;
  /** Path of the kubeconfig for the hub. */
  readonly hubKubeconfig: string;
  /** Path of the kubeconfig for the spoke; undefined: the cluster the agent runs in. */
  readonly spokeKubeconfig: string | undefined;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug' | 'silent';
  /** Port of /healthz and /readyz on all addresses; 0 takes a free one. */
  readonly healthPort: number;
  /** Renew the lease and report availability; off where a registration agent does it. */
  readonly registration: boolean;
  /** Secret on the spoke that `hubKubeconfig` is mounted from; undefined: somebody else renews its token. */
  readonly hubKubeconfigSecret: { readonly namespace: string; readonly name: string; readonly key: string } | undefined;
  /** How often ManifestWorks are looked at, and how; undefined: a stock work agent executes them. */
  readonly works: WorkCadence | undefined;
  /** User as whom works are applied; undefined: as the agent itself. */
  readonly worksAs: string | undefined;
}

const isOn = z
  .union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], { error: 'must be true or false' })
  .default(true);
const seconds = (byDefaultMs: number) =>
  z.coerce
    .number({ error: 'must be a number of seconds' })
    .positive({ error: 'must be more than 0 seconds' })
    .default(byDefaultMs / 1000);

const Settings = z.object({
  clusterName: z
    .string({ error: 'is required: name the ManagedCluster' })
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'must be a namespace name: at most 63 lower-case letters, digits and "-"' }),
  hubKubeconfig: z
    .string({ error: 'is required: path of a kubeconfig for the hub' })
    .min(1, { error: 'is empty: give the path of a kubeconfig' }),
  hubKubeconfigSecret: z
    .string()
    .regex(/^[^/]+\/[^/]+\/[^/]+$/, { error: 'must be namespace/name/key of a Secret on the spoke' })
    .optional(),
  spokeKubeconfig: z.string().min(1, { error: 'is empty: give a path, or leave it out to use the cluster the agent runs in' }).optional(),
  logLevel: z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('info'),
  healthPort: z.coerce.number().int().min(0).max(65_535).default(8080),
  registration: isOn,
  works: isOn,
  worksAs: z
    .string()
    .regex(/^[a-z0-9.-]{1,63}\/[a-z0-9.-]{1,253}$/, { error: 'must be namespace/name of a ServiceAccount on the spoke' })
    .transform((text) => `system:serviceaccount:${text.replace('/', ':')}`)
    .optional(),
  workStatusSyncSeconds: seconds(DEFAULT_WORK_CADENCE.statusSyncMs),
  workResyncSeconds: seconds(DEFAULT_WORK_CADENCE.resyncMs),
  workFeedback: z.enum(FeedbackMode).default('settled'),
});

const FLAG: Record<string, string> = {
  clusterName: '--cluster-name (CLUSTER_NAME)',
  hubKubeconfig: '--hub-kubeconfig (HUB_KUBECONFIG)',
  hubKubeconfigSecret: '--hub-kubeconfig-secret (HUB_KUBECONFIG_SECRET)',
  spokeKubeconfig: '--spoke-kubeconfig (SPOKE_KUBECONFIG)',
  logLevel: '--log-level (LOG_LEVEL)',
  healthPort: '--health-port (HEALTH_PORT)',
  registration: '--registration (REGISTRATION)',
  works: '--works (WORKS)',
  worksAs: '--works-as (WORKS_AS)',
  workStatusSyncSeconds: '--work-status-sync-seconds (WORK_STATUS_SYNC_SECONDS)',
  workResyncSeconds: '--work-resync-seconds (WORK_RESYNC_SECONDS)',
  workFeedback: '--work-feedback (WORK_FEEDBACK)',
};

/** Reads flags and environment, flags first. Throws `FLOTILLA_AGENT_CONFIG_INVALID` naming every wrong setting and its fix. */
export function readConfig(argv: readonly string[] = process.argv, env: NodeJS.ProcessEnv = process.env): AgentConfig {
  const command = new Command('spoke-agent')
    .description('Executes ManagedClusterActions, ManagedClusterViews and ManifestWorks of one hub namespace on a spoke.')
    .option('--cluster-name <name>', 'ManagedCluster, and namespace on the hub (env CLUSTER_NAME)')
    .option('--hub-kubeconfig <file>', 'kubeconfig for the hub (env HUB_KUBECONFIG)')
    .option(
      '--hub-kubeconfig-secret <namespace/name/key>',
      'Secret on the spoke that file is mounted from: its token is renewed there (env HUB_KUBECONFIG_SECRET)',
    )
    .option('--spoke-kubeconfig <file>', 'kubeconfig for the spoke; default in-cluster (env SPOKE_KUBECONFIG)')
    .option('--log-level <level>', 'error, warn, info, debug or silent; default info (env LOG_LEVEL)')
    .option('--health-port <port>', 'port of /healthz and /readyz; default 8080 (env HEALTH_PORT)')
    .addOption(new Option('--registration [on]', 'renew the lease and report availability; default true (env REGISTRATION)'))
    .addOption(new Option('--works [on]', 'execute ManifestWorks; default true (env WORKS)'))
    .option('--works-as <namespace/name>', 'ServiceAccount on the spoke to apply works as; default the agent itself (env WORKS_AS)')
    .option('--work-status-sync-seconds <n>', 'between two reads of what works apply; default 10 (env WORK_STATUS_SYNC_SECONDS)')
    .option('--work-resync-seconds <n>', 'between two repairs of drift, up to half more; default 240 (env WORK_RESYNC_SECONDS)')
    .option(
      '--work-feedback <mode>',
      'settled, or immediate to read values back as the stock work agent does; default settled (env WORK_FEEDBACK)',
    )
    .parse([...argv]);
  const fromEnv = {
    clusterName: env.CLUSTER_NAME,
    hubKubeconfig: env.HUB_KUBECONFIG,
    hubKubeconfigSecret: env.HUB_KUBECONFIG_SECRET,
    spokeKubeconfig: env.SPOKE_KUBECONFIG,
    logLevel: env.LOG_LEVEL,
    healthPort: env.HEALTH_PORT,
    registration: env.REGISTRATION,
    works: env.WORKS,
    worksAs: env.WORKS_AS,
    workStatusSyncSeconds: env.WORK_STATUS_SYNC_SECONDS,
    workResyncSeconds: env.WORK_RESYNC_SECONDS,
    workFeedback: env.WORK_FEEDBACK,
  };
  const parsed = Settings.safeParse({ ...fromEnv, ...command.opts() });
  if (parsed.success) return toConfig(parsed.data);
  const problems = parsed.error.issues.map(({ path, message }) => `${FLAG[String(path[0])] ?? String(path[0])}: ${message}`);
  throw new FlotillaError('FLOTILLA_AGENT_CONFIG_INVALID', problems.join('; '));
}

function toConfig({
  works,
  workStatusSyncSeconds,
  workResyncSeconds,
  workFeedback,
  hubKubeconfigSecret,
  ...rest
}: z.output<typeof Settings>): AgentConfig {
  const [namespace = '', name = '', key = ''] = hubKubeconfigSecret?.split('/') ?? [];
  const secret = hubKubeconfigSecret === undefined ? undefined : Object.freeze({ namespace, name, key });
  const cadence = { statusSyncMs: workStatusSyncSeconds * 1000, resyncMs: workResyncSeconds * 1000, feedback: workFeedback };
  return Object.freeze({
    ...rest,
    spokeKubeconfig: rest.spokeKubeconfig,
    worksAs: rest.worksAs,
    hubKubeconfigSecret: secret,
    works: works ? Object.freeze(cadence) : undefined,
  });
}
