import { DEFAULT_WORK_CADENCE, FeedbackMode, type WorkCadence } from '@flotilla/agent';
import { type OptionRow, option, readOptions } from '@flotilla/runtime';
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
  /** Port of /healthz, /readyz and /metrics on all addresses; 0 takes a free one. */
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
  logLevel: option.logLevel.default('info'),
  healthPort: option.port.default(8080),
  registration: option.flag(true),
  works: option.flag(true),
  worksAs: z
    .string()
    .regex(/^[a-z0-9.-]{1,63}\/[a-z0-9.-]{1,253}$/, { error: 'must be namespace/name of a ServiceAccount on the spoke' })
    .transform((text) => `system:serviceaccount:${text.replace('/', ':')}`)
    .optional(),
  workStatusSyncSeconds: seconds(DEFAULT_WORK_CADENCE.statusSyncMs),
  workResyncSeconds: seconds(DEFAULT_WORK_CADENCE.resyncMs),
  workFeedback: z.enum(FeedbackMode).default('settled'),
});

/** How soon a work that asks to be watched sees a change: its objects are read so often. */
const WATCHED_READ_MS = 2000;

const options: readonly OptionRow[] = [
  ['--cluster-name <name>', 'CLUSTER_NAME', 'ManagedCluster, and namespace on the hub'],
  ['--hub-kubeconfig <file>', 'HUB_KUBECONFIG', 'kubeconfig for the hub'],
  [
    '--hub-kubeconfig-secret <namespace/name/key>',
    'HUB_KUBECONFIG_SECRET',
    'Secret on the spoke that file is mounted from: its token is renewed there',
  ],
  ['--spoke-kubeconfig <file>', 'SPOKE_KUBECONFIG', 'kubeconfig for the spoke; default in-cluster'],
  ['--log-level <level>', 'LOG_LEVEL', 'error, warn, info, debug or silent; default info'],
  ['--health-port <port>', 'HEALTH_PORT', 'port of /healthz, /readyz and /metrics, 0 for any free one; default 8080'],
  ['--registration [on]', 'REGISTRATION', 'renew the lease and report availability; default true'],
  ['--works [on]', 'WORKS', 'execute ManifestWorks; default true'],
  ['--works-as <namespace/name>', 'WORKS_AS', 'ServiceAccount on the spoke to apply works as; default the agent itself'],
  ['--work-status-sync-seconds <n>', 'WORK_STATUS_SYNC_SECONDS', 'between two reads of what works apply; default 10'],
  ['--work-resync-seconds <n>', 'WORK_RESYNC_SECONDS', 'between two repairs of drift, up to half more; default 240'],
  ['--work-feedback <mode>', 'WORK_FEEDBACK', 'settled, or immediate to read values back as the stock work agent does; default settled'],
];

/** Reads flags and environment; see `readOptions`. */
export function readConfig(argv: readonly string[] = process.argv.slice(2), env: NodeJS.ProcessEnv = process.env): AgentConfig {
  const description = 'Executes ManagedClusterActions, ManagedClusterViews and ManifestWorks of one hub namespace on a spoke.';
  return toConfig(readOptions({ program: 'spoke-agent', description, rows: options, schema: Settings, argv, env }));
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
  const cadence = {
    statusSyncMs: workStatusSyncSeconds * 1000,
    resyncMs: workResyncSeconds * 1000,
    feedback: workFeedback,
    watchedReadMs: WATCHED_READ_MS,
  };
  return Object.freeze({
    ...rest,
    spokeKubeconfig: rest.spokeKubeconfig,
    worksAs: rest.worksAs,
    hubKubeconfigSecret: secret,
    works: works ? Object.freeze(cadence) : undefined,
  });
}
