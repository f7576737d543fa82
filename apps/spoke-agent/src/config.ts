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
}

const Settings = z.object({
  clusterName: z
    .string({ error: 'is required: name the ManagedCluster' })
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, { error: 'must be a namespace name: at most 63 lower-case letters, digits and "-"' }),
  hubKubeconfig: z
    .string({ error: 'is required: path of a kubeconfig for the hub' })
    .min(1, { error: 'is empty: give the path of a kubeconfig' }),
  spokeKubeconfig: z.string().min(1, { error: 'is empty: give a path, or leave it out to use the cluster the agent runs in' }).optional(),
  logLevel: z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('info'),
  healthPort: z.coerce.number().int().min(0).max(65_535).default(8080),
  registration: z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]).default(true),
});

const FLAG: Record<string, string> = {
  clusterName: '--cluster-name (CLUSTER_NAME)',
  hubKubeconfig: '--hub-kubeconfig (HUB_KUBECONFIG)',
  spokeKubeconfig: '--spoke-kubeconfig (SPOKE_KUBECONFIG)',
  logLevel: '--log-level (LOG_LEVEL)',
  healthPort: '--health-port (HEALTH_PORT)',
  registration: '--registration (REGISTRATION)',
};

/** Reads flags and environment, flags first. Throws `FLOTILLA_AGENT_CONFIG_INVALID` naming every wrong setting and its fix. */
export function readConfig(argv: readonly string[] = process.argv, env: NodeJS.ProcessEnv = process.env): AgentConfig {
  const command = new Command('spoke-agent')
    .description('Executes ManagedClusterActions and ManagedClusterViews of one hub namespace on a spoke.')
    .option('--cluster-name <name>', 'ManagedCluster, and namespace on the hub (env CLUSTER_NAME)')
    .option('--hub-kubeconfig <file>', 'kubeconfig for the hub (env HUB_KUBECONFIG)')
    .option('--spoke-kubeconfig <file>', 'kubeconfig for the spoke; default in-cluster (env SPOKE_KUBECONFIG)')
    .option('--log-level <level>', 'error, warn, info, debug or silent; default info (env LOG_LEVEL)')
    .option('--health-port <port>', 'port of /healthz and /readyz; default 8080 (env HEALTH_PORT)')
    .addOption(new Option('--registration [on]', 'renew the lease and report availability; default true (env REGISTRATION)'))
    .parse([...argv]);
  const fromEnv = {
    clusterName: env.CLUSTER_NAME,
    hubKubeconfig: env.HUB_KUBECONFIG,
    spokeKubeconfig: env.SPOKE_KUBECONFIG,
    logLevel: env.LOG_LEVEL,
    healthPort: env.HEALTH_PORT,
    registration: env.REGISTRATION,
  };
  const parsed = Settings.safeParse({ ...fromEnv, ...command.opts() });
  if (parsed.success) return Object.freeze({ ...parsed.data, spokeKubeconfig: parsed.data.spokeKubeconfig });
  const problems = parsed.error.issues.map(({ path, message }) => `${FLAG[String(path[0])] ?? String(path[0])}: ${message}`);
  throw new FlotillaError('FLOTILLA_AGENT_CONFIG_INVALID', problems.join('; '));
}
