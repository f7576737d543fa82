import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { type OptionRow, option, readOptions } from '@flotilla/runtime';
import { z } from 'zod';

const { flag, whole, logLevel } = option;

/** `:8383`, `127.0.0.1:8383` or `[::1]:8383`; port 0 takes a free one. */
const bindAddress = (byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text, context) => {
      const [, host = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
      const port = Number(digits);
      if (digits !== '' && port <= 65_535) return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
      context.addIssue({ code: 'custom', message: 'must be host:port, or :port for all addresses' });
      return z.NEVER;
    });

const url = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), { error: 'must be an http or https URL' });

const Config = z
  .object({
    kubeconfig: z.string().optional(),
    namespace: z.string().min(1).default(OPERATOR_NAMESPACE),
    metricsBindAddress: bindAddress(':8383'),
    customMetricsBindAddress: bindAddress(':8089'),
    healthProbeBindAddress: bindAddress(':8081'),
    leaderElect: flag(true),
    prometheusUrl: url.optional(),
    alertmanagerUrl: url.optional(),
    deploymentValidationUrl: url.optional(),
    retrySeconds: whole(1, 3600).default(60),
    clusterOperator: z
      .string()
      .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/, { error: 'must be a name such as managed-upgrade-operator' })
      .default(''),
    releaseVersion: z.string().default(''),
    logLevel: logLevel.default('info'),
    proxy: z.object({ http: z.string().optional(), https: z.string().optional(), no: z.string().optional() }),
  })
  .refine(({ metricsBindAddress, healthProbeBindAddress }) => metricsBindAddress.host === healthProbeBindAddress.host, {
    path: ['metricsBindAddress'],
    message: 'must have the host of --health-probe-bind-address',
  })
  .refine(({ clusterOperator, releaseVersion }) => clusterOperator === '' || releaseVersion !== '', {
    path: ['releaseVersion'],
    message: 'must be set where --cluster-operator is: it is the version that is reported',
  });
/** How the operator runs; what it does is in its ConfigMap. */
export type ProgramSettings = Readonly<z.output<typeof Config>>;

/** The README's table is this one. */
export const options: readonly OptionRow[] = [
  ['--kubeconfig <file>', 'KUBECONFIG', 'API server of the cluster; in-cluster when absent'],
  ['--namespace <namespace>', 'OPERATOR_NAMESPACE', `namespace of UpgradeConfig, ConfigMap and Lease (default ${OPERATOR_NAMESPACE})`],
  ['--metrics-bind-address <address>', 'METRICS_BIND_ADDRESS', "where the operator's own metrics are served (default :8383)"],
  [
    '--custom-metrics-bind-address <address>',
    'CUSTOM_METRICS_BIND_ADDRESS',
    'where metrics made from the UpgradeConfig are served (default :8089)',
  ],
  ['--health-probe-bind-address <address>', 'HEALTH_PROBE_BIND_ADDRESS', 'where /healthz and /readyz are served (default :8081)'],
  ['--leader-elect [on]', 'LEADER_ELECT', 'act only while holding the Lease (default true)'],
  ['--retry-seconds <n>', 'RETRY_SECONDS', 'between two tries of what no watch tells of: services that do not answer, health (default 60)'],
  ['--prometheus-url <url>', 'PROMETHEUS_URL', 'Prometheus, asked without credentials; default the one of openshift-monitoring'],
  ['--alertmanager-url <url>', 'ALERTMANAGER_URL', 'Alertmanager, asked without credentials; default the one of openshift-monitoring'],
  [
    '--deployment-validation-url <url>',
    'DEPLOYMENT_VALIDATION_URL',
    'metrics of the deployment validation operator; default its Service, where there is one',
  ],
  ['--cluster-operator <name>', 'CLUSTER_OPERATOR', 'ClusterOperator by which the operator reports itself; default none'],
  ['--release-version <version>', 'RELEASE_VERSION', 'version of the release that the operator belongs to, as it reports it'],
  ['--log-level <level>', 'LOG_LEVEL', 'error, warn, info, debug or silent (default info)'],
];

/** Reads flags and environment; see `readOptions`. */
export function readConfig(argv: readonly string[] = process.argv.slice(2), env: NodeJS.ProcessEnv = process.env): ProgramSettings {
  return readOptions({
    program: 'upgrade-operator',
    description: 'Carries out the UpgradeConfig of one cluster.',
    rows: options,
    schema: Config,
    argv,
    env,
    otherwise: {
      proxy: { http: env.HTTP_PROXY ?? env.http_proxy, https: env.HTTPS_PROXY ?? env.https_proxy, no: env.NO_PROXY ?? env.no_proxy },
    },
  });
}
