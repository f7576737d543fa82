import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { type OptionRows, option, proxiesOf, proxySettings, readOptions, schemaOf } from '@flotilla/runtime';
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

/** Rows of docs/reference/options.md. */
export const options = {
  kubeconfig: ['<file>', z.string().optional(), 'API server of the cluster; in-cluster when absent'],
  namespace: ['<namespace>', z.string().min(1).default(OPERATOR_NAMESPACE), 'of UpgradeConfig, ConfigMap and Lease', 'OPERATOR_NAMESPACE'],
  metricsBindAddress: ['<address>', bindAddress(':8383'), "where the operator's own metrics are served"],
  customMetricsBindAddress: ['<address>', bindAddress(':8089'), 'where metrics made from the UpgradeConfig are served'],
  healthProbeBindAddress: ['<address>', bindAddress(':8081'), 'where /healthz and /readyz are served'],
  leaderElect: ['[on]', flag(true), 'act only while holding the Lease'],
  retrySeconds: [
    '<n>',
    whole(1, 3600).default(60),
    'longest time between two tries of what no watch tells of: services that do not answer, health',
  ],
  prometheusUrl: ['<url>', url.optional(), 'Prometheus, asked without credentials; the one of `openshift-monitoring` when absent'],
  alertmanagerUrl: ['<url>', url.optional(), 'Alertmanager, asked without credentials; the one of `openshift-monitoring` when absent'],
  deploymentValidationUrl: [
    '<url>',
    url.optional(),
    'metrics of the deployment validation operator; its Service when absent, where there is one',
  ],
  clusterOperator: [
    '<name>',
    z
      .string()
      .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/, { error: 'must be a name such as managed-upgrade-operator' })
      .default(''),
    'ClusterOperator by which the operator reports itself, degraded while it cannot do what is asked, or when an upgrade was given up; none when absent',
  ],
  releaseVersion: ['<version>', z.string().default(''), 'version of the release that the operator belongs to, as it reports it'],
  logLevel: ['<level>', logLevel.default('info'), 'error, warn, info, debug or silent'],
} satisfies OptionRows;

const Config = schemaOf(options)
  .extend({ proxy: proxySettings })
  .refine(({ metricsBindAddress, healthProbeBindAddress }) => metricsBindAddress.host === healthProbeBindAddress.host, {
    path: ['metricsBindAddress'],
    message: 'must have the host of --health-probe-bind-address',
  })
  .refine(({ clusterOperator, releaseVersion }) => clusterOperator === '' || releaseVersion !== '', {
    path: ['releaseVersion'],
    message: 'must be set where --cluster-operator is: it is the version that is reported',
  });
/** Settings of the program; its ConfigMap configures the upgrades. */
export type ProgramSettings = Readonly<z.output<typeof Config>>;

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
      proxy: proxiesOf(env),
    },
  });
}
