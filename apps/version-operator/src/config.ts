import { capabilitySets } from '@flotilla/release';
import { type OptionRows, option, pathFromCaller, proxyUrl, proxyVariables, readOptions, schemaOf } from '@flotilla/runtime';
import { z } from 'zod';

const names = z
  .string()
  .transform((text) => text.split(',').filter((name) => name !== ''))
  .optional()
  .transform((list) => list ?? []);

const known = new Set(capabilitySets.get('vCurrent'));
const capabilities = names.refine((list) => list.every((name) => known.has(name)), {
  error: ({ input }) =>
    `must be capabilities: ${z
      .array(z.string())
      .parse(input)
      .filter((name) => !known.has(name))
      .join(', ')} is none; there are ${[...known].sort().join(', ')}`,
});

const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

const file = z.string().min(1, { error: 'is empty: give a path' });

/** Rows of docs/reference/options.md. */
export const options = {
  kubeconfig: [
    '<file>',
    z.string().min(1, { error: 'is empty: give a path, or leave it out to use the cluster the operator runs in' }).optional(),
    'kubeconfig for the cluster; in-cluster when absent',
  ],
  payload: [
    '<folder>',
    z.string().min(1, { error: 'is empty: give the folder of a release payload' }).optional(),
    'release payload: the folder that holds `manifests/` and `release-manifests/`',
  ],
  image: [
    '<pull spec>',
    z.string().min(1, { error: 'is empty: give the pull spec of a release image' }).optional(),
    "release image to install a cluster with; with `--payload` the name of that payload, else it is fetched. Later the cluster's own history counts",
    'RELEASE_IMAGE',
  ],
  cacheFolder: [
    '<folder>',
    file.optional(),
    'where files of releases are kept, also of the one that a pre-cache is for; nowhere when absent',
  ],
  pullSecret: ['<file>', file.optional(), "file with credentials of registries, as Docker's `config.json`"],
  registryCa: ['<file>', file.optional(), 'PEM of authorities of registries besides those of the system'],
  registriesConf: ['<file>', file.optional(), 'mirrors of registries, as containers-registries.conf'],
  insecureRegistries: ['<hosts>', names, 'registries spoken to over plain HTTP, separated by commas'],
  httpProxy: ['<url>', proxyUrl, "proxy to registries over plain HTTP; to signature stores it is the cluster's own"],
  httpsProxy: ['<url>', proxyUrl, 'proxy to registries'],
  noProxy: ['<hosts>', z.string().optional(), 'hosts and networks that are reached directly, separated by commas'],
  observe: ['[on]', option.flag(false), 'tell what would be done and write nothing'],
  clusterProfile: [
    '<name>',
    z.string().min(1, { error: 'is empty: name a profile' }).default('self-managed-high-availability'),
    'profile of the cluster',
  ],
  excludeManifests: [
    '<identifier>',
    z.string().optional(),
    'leave out what is annotated `exclude.release.openshift.io/` with this identifier',
  ],
  alwaysEnableCapabilities: ['<names>', capabilities, 'capabilities that are always enabled, separated by commas'],
  degraded: [
    '<how>',
    z.enum(['auto', 'blocks', 'reported'], { error: 'must be auto, blocks or reported' }).default('auto'),
    'a degraded operator `blocks` an update, is `reported`, or `auto`: blocks below version 4.19',
  ],
  passMinutes: [
    '<n>',
    z.coerce.number({ error: 'must be a number of minutes' }).positive({ error: 'must be more than 0' }).max(60).default(3),
    'between two passes over a release that is applied',
  ],
  updateService: ['<url>', url.optional(), 'update-graph service to ask instead of the one that the ClusterVersion names'],
  updateTimeoutSeconds: ['<n>', option.whole(1, 3_600).default(60), 'what one question to it may take'],
  metricsUrl: [
    '<url>',
    url.default('https://thanos-querier.openshift-monitoring.svc.cluster.local:9091'),
    "monitoring that updates' risks are asked of",
  ],
  metricsCaBundleFile: ['<file>', z.string().default('/etc/tls/service-ca/service-ca.crt'), 'authorities of its certificate'],
  metricsTokenFile: [
    '<file>',
    z.string().default('/var/run/secrets/kubernetes.io/serviceaccount/token'),
    'token that it wants; empty for none',
  ],
  servingCertFile: [
    '<file>',
    file.optional(),
    'serves metrics over TLS with it, to `--metrics-client` alone; plainly and to everybody when absent',
  ],
  servingKeyFile: ['<file>', file.optional(), 'its key'],
  metricsClient: [
    '<name>',
    z.string().min(1, { error: 'is empty: name a client' }).default('system:serviceaccount:openshift-monitoring:prometheus-k8s'),
    'common name of the client certificate that may read them',
  ],
  healthPort: ['<port>', option.port.default(0), 'port of `/healthz` and `/readyz`, 0 for any free one'],
  metricsPort: ['<port>', option.port.default(0), 'port of `/metrics`, 0 for any free one'],
  logLevel: ['<level>', option.logLevel.default('info'), 'error, warn, info, debug or silent'],
} satisfies OptionRows;

const Settings = schemaOf(options)
  .refine(({ payload, image }) => payload !== undefined || image !== undefined, {
    error: 'is missing: give --payload with a folder or --image with a release image',
    path: ['payload'],
  })
  .refine(({ servingCertFile, servingKeyFile }) => (servingCertFile === undefined) === (servingKeyFile === undefined), {
    error: 'is given alone: give --serving-cert-file and --serving-key-file, or neither',
    path: ['servingCertFile'],
  });

/** Configuration of the operator; complete and frozen. */
export type OperatorConfig = Readonly<z.output<typeof Settings>>;

/** Reads flags and environment; see `readOptions`. Paths count from where the command was typed. */
export function readConfig(argv: readonly string[] = process.argv.slice(2), env: NodeJS.ProcessEnv = process.env): OperatorConfig {
  const description = 'Applies a release payload to a cluster until every operator agrees, and keeps it as it is.';
  const config = readOptions({
    program: 'version-operator',
    description,
    rows: options,
    schema: Settings,
    argv,
    env: { ...env, ...proxyVariables(env) },
  });
  const paths = PATHS.map((name) => [name, config[name] && pathFromCaller(config[name], env)] as const);
  return Object.freeze({ ...config, ...Object.fromEntries(paths) });
}

const PATHS = [
  ...(['kubeconfig', 'payload', 'cacheFolder', 'pullSecret', 'registryCa', 'registriesConf'] as const),
  ...(['servingCertFile', 'servingKeyFile'] as const),
];

/** True when a degraded ClusterOperator holds an update to a version up; by default from 4.19 on it is only reported. */
export function degradedBlocks(how: OperatorConfig['degraded'], version: string): boolean {
  if (how !== 'auto') return how === 'blocks';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 4 || (major === 4 && minor < 19);
}
