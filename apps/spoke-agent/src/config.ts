import { DEFAULT_WORK_CADENCE, FeedbackMode, FIRST_REPORT_MS, type WorkCadence } from '@flotilla/agent';
import { type OptionRows, option, readOptions, schemaOf } from '@flotilla/runtime';
import { z } from 'zod';

const seconds = (byDefaultMs: number) =>
  z.coerce
    .number({ error: 'must be a number of seconds' })
    .positive({ error: 'must be more than 0 seconds' })
    .default(byDefaultMs / 1000);

/** Rows of docs/reference/options.md. */
export const options = {
  clusterName: [
    '<name>',
    z
      .string({ error: 'is required: name the ManagedCluster' })
      .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'must be a namespace name: at most 63 lower-case letters, digits and "-"' }),
    'ManagedCluster, and namespace on the hub; required',
  ],
  hubKubeconfig: [
    '<file>',
    z.string({ error: 'is required: path of a kubeconfig for the hub' }).min(1, { error: 'is empty: give the path of a kubeconfig' }),
    'kubeconfig for the hub; required',
  ],
  hubKubeconfigSecret: [
    '<namespace/name/key>',
    z
      .string()
      .regex(/^[^/]+\/[^/]+\/[^/]+$/, { error: 'must be namespace/name/key of a Secret on the spoke' })
      .optional(),
    'Secret on the spoke that file is mounted from: its token is renewed there',
  ],
  spokeKubeconfig: [
    '<file>',
    z.string().min(1, { error: 'is empty: give a path, or leave it out to use the cluster the agent runs in' }).optional(),
    'kubeconfig for the spoke; in-cluster when absent',
  ],
  logLevel: ['<level>', option.logLevel.default('info'), 'error, warn, info, debug or silent'],
  healthPort: ['<port>', option.port.default(8080), 'port of `/healthz`, `/readyz` and `/metrics` on all addresses, 0 for any free one'],
  registration: ['[on]', option.flag(true), 'renew the lease and report availability; `false` where a registration agent keeps the lease'],
  works: ['[on]', option.flag(true), 'execute ManifestWorks; `false` where a stock work agent executes them: two would fight'],
  worksAs: [
    '<namespace/name>',
    z
      .string()
      .regex(/^[a-z0-9.-]{1,63}\/[a-z0-9.-]{1,253}$/, { error: 'must be namespace/name of a ServiceAccount on the spoke' })
      .transform((text) => `system:serviceaccount:${text.replace('/', ':')}`)
      .optional(),
    'ServiceAccount on the spoke that the agent impersonates for works, so that what works may do is not what actions and views may; the agent itself when absent',
  ],
  pullerRole: [
    '<name>',
    z
      .string()
      .regex(/^[a-z0-9.:-]{1,253}$/, { error: 'must be the name of a ClusterRole on the spoke' })
      .optional(),
    "ClusterRole on the spoke for the puller's account, which the agent then makes right before Job `pre-cache`; the job brings the account along when absent",
  ],
  workStatusSyncSeconds: [
    '<n>',
    seconds(DEFAULT_WORK_CADENCE.statusSyncMs),
    'between two reads of what works apply, while nothing changes',
  ],
  workResyncSeconds: ['<n>', seconds(DEFAULT_WORK_CADENCE.resyncMs), 'between two repairs of drift; up to half as much is added'],
  workEvictionSeconds: [
    '<n>',
    seconds(3_600_000),
    'until objects are removed whose work is missing on the hub although nothing ended it, as after a restore',
  ],
  workFeedback: [
    '<mode>',
    z.enum(FeedbackMode).default('settled'),
    '`settled`, or `immediate` to read values back as the stock work agent does, right after applying and as they stand',
  ],
} satisfies OptionRows;
const Settings = schemaOf(options);
/** Settings of the agent; complete and frozen. */
export type AgentConfig = Readonly<ReturnType<typeof toConfig>>;

/** Milliseconds between reads of a watched work's objects, and so the delay of a change. */
const WATCHED_READ_MS = 2000;

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
  workEvictionSeconds,
  hubKubeconfigSecret,
  ...rest
}: z.output<typeof Settings>) {
  const [namespace = '', name = '', key = ''] = hubKubeconfigSecret?.split('/') ?? [];
  const cadence: WorkCadence = {
    statusSyncMs: workStatusSyncSeconds * 1000,
    resyncMs: workResyncSeconds * 1000,
    feedback: workFeedback,
    watchedReadMs: WATCHED_READ_MS,
    firstReportMs: FIRST_REPORT_MS,
  };
  return Object.freeze({
    ...rest,
    /** Secret on the spoke that `hubKubeconfig` is mounted from; undefined: another program renews its token. */
    hubKubeconfigSecret: hubKubeconfigSecret === undefined ? undefined : Object.freeze({ namespace, name, key }),
    /** Cadence of ManifestWorks; undefined: a stock work agent executes them. */
    works: works ? Object.freeze(cadence) : undefined,
    workEvictionGraceMs: workEvictionSeconds * 1000,
  });
}
