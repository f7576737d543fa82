import { capabilitySets } from '@flotilla/release';
import { type OptionRow, option, pathFromCaller, readOptions } from '@flotilla/runtime';
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

const Settings = z
  .object({
    kubeconfig: z.string().min(1, { error: 'is empty: give a path, or leave it out to use the cluster the operator runs in' }).optional(),
    payload: z.string().min(1, { error: 'is empty: give the folder of a release payload' }).optional(),
    image: z.string().min(1, { error: 'is empty: give the pull spec of a release image' }).optional(),
    cacheFolder: file.optional(),
    pullSecret: file.optional(),
    registryCa: file.optional(),
    registriesConf: file.optional(),
    insecureRegistries: names,
    httpProxy: z.string().optional(),
    httpsProxy: z.string().optional(),
    noProxy: z.string().optional(),
    observe: option.flag(false),
    clusterProfile: z.string().min(1, { error: 'is empty: name a profile' }).default('self-managed-high-availability'),
    excludeManifests: z.string().optional(),
    alwaysEnableCapabilities: capabilities,
    degraded: z.enum(['auto', 'blocks', 'reported'], { error: 'must be auto, blocks or reported' }).default('auto'),
    passMinutes: z.coerce.number({ error: 'must be a number of minutes' }).positive({ error: 'must be more than 0' }).max(60).default(3),
    updateService: url.optional(),
    updateTimeoutSeconds: option.whole(1, 3_600).default(60),
    metricsUrl: url.default('https://thanos-querier.openshift-monitoring.svc.cluster.local:9091'),
    metricsCaBundleFile: z.string().default('/etc/tls/service-ca/service-ca.crt'),
    metricsTokenFile: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount/token'),
    servingCertFile: file.optional(),
    servingKeyFile: file.optional(),
    metricsClient: z
      .string()
      .min(1, { error: 'is empty: name a client' })
      .default('system:serviceaccount:openshift-monitoring:prometheus-k8s'),
    healthPort: option.port.default(0),
    metricsPort: option.port.default(0),
    logLevel: option.logLevel.default('info'),
  })
  .refine(({ payload, image }) => payload !== undefined || image !== undefined, {
    error: 'is missing: give --payload with a folder or --image with a release image',
    path: ['payload'],
  })
  .refine(({ servingCertFile, servingKeyFile }) => (servingCertFile === undefined) === (servingKeyFile === undefined), {
    error: 'is given alone: give --serving-cert-file and --serving-key-file, or neither',
    path: ['servingCertFile'],
  });

/** How the operator runs; complete and frozen. */
export type OperatorConfig = Readonly<z.output<typeof Settings>>;

const options: readonly OptionRow[] = [
  ['--kubeconfig <file>', 'KUBECONFIG', 'kubeconfig for the cluster; default in-cluster'],
  ['--payload <folder>', 'PAYLOAD', 'release payload: the folder that holds manifests/ and release-manifests/'],
  ['--image <pull spec>', 'RELEASE_IMAGE', 'release image to install with; with --payload the name of that payload, else it is fetched'],
  ['--cache-folder <folder>', 'CACHE_FOLDER', 'where files of releases are kept, also of the one that a pre-cache is for; default nowhere'],
  ['--pull-secret <file>', 'PULL_SECRET', "credentials of registries, as Docker's config.json; default none"],
  ['--registry-ca <file>', 'REGISTRY_CA', 'PEM of authorities of registries besides those of the system; default none'],
  ['--registries-conf <file>', 'REGISTRIES_CONF', 'mirrors of registries, as containers-registries.conf; default none'],
  ['--insecure-registries <hosts>', 'INSECURE_REGISTRIES', 'registries spoken to over plain HTTP, separated by commas; default none'],
  ['--http-proxy <url>', 'HTTP_PROXY', 'proxy to registries over plain HTTP; default none'],
  ['--https-proxy <url>', 'HTTPS_PROXY', 'proxy to registries; default none'],
  ['--no-proxy <hosts>', 'NO_PROXY', 'hosts and networks that are reached directly, separated by commas; default none'],
  ['--observe [on]', 'OBSERVE', 'tell what would be done and write nothing; default false'],
  ['--cluster-profile <name>', 'CLUSTER_PROFILE', 'profile of the cluster; default self-managed-high-availability'],
  ['--exclude-manifests <identifier>', 'EXCLUDE_MANIFESTS', 'leave out what is annotated exclude.release.openshift.io/<identifier>'],
  ['--always-enable-capabilities <names>', 'ALWAYS_ENABLE_CAPABILITIES', 'capabilities that are always enabled, separated by commas'],
  ['--degraded <how>', 'DEGRADED', 'a degraded operator blocks an update, is reported, or auto: blocks below version 4.19; default auto'],
  ['--pass-minutes <n>', 'PASS_MINUTES', 'between two passes over a release that is applied; default 3'],
  ['--update-service <url>', 'UPDATE_SERVICE', 'update-graph service to ask instead of the one that the ClusterVersion names'],
  ['--update-timeout-seconds <n>', 'UPDATE_TIMEOUT_SECONDS', 'what one question to it may take; default 60'],
  ['--metrics-url <url>', 'METRICS_URL', "monitoring that updates' risks are asked of; default the cluster's thanos-querier"],
  [
    '--metrics-ca-bundle-file <file>',
    'METRICS_CA_BUNDLE_FILE',
    'authorities of its certificate; default /etc/tls/service-ca/service-ca.crt',
  ],
  ['--metrics-token-file <file>', 'METRICS_TOKEN_FILE', "token that it wants; default the pod's service account token, empty for none"],
  [
    '--serving-cert-file <file>',
    'SERVING_CERT_FILE',
    'serves metrics over TLS with it, to --metrics-client alone; default plainly, to everybody',
  ],
  ['--serving-key-file <file>', 'SERVING_KEY_FILE', 'its key'],
  [
    '--metrics-client <name>',
    'METRICS_CLIENT',
    'common name of the client certificate that may read them; default system:serviceaccount:openshift-monitoring:prometheus-k8s',
  ],
  ['--health-port <port>', 'HEALTH_PORT', 'port of /healthz and /readyz, 0 for any free one; default 0'],
  ['--metrics-port <port>', 'METRICS_PORT', 'port of /metrics, 0 for any free one; default 0'],
  ['--log-level <level>', 'LOG_LEVEL', 'error, warn, info, debug or silent; default info'],
];

/** Reads flags and environment; see `readOptions`. Paths count from where the command was typed. */
export function readConfig(argv: readonly string[] = process.argv.slice(2), env: NodeJS.ProcessEnv = process.env): OperatorConfig {
  const description = 'Applies a release payload to a cluster until every operator agrees, and keeps it as it is.';
  const config = readOptions({ program: 'version-operator', description, rows: options, schema: Settings, argv, env });
  const path = (given: string | undefined) => (given === undefined ? undefined : pathFromCaller(given, env));
  return Object.freeze({
    ...config,
    kubeconfig: path(config.kubeconfig),
    payload: path(config.payload),
    cacheFolder: path(config.cacheFolder),
    pullSecret: path(config.pullSecret),
    registryCa: path(config.registryCa),
    registriesConf: path(config.registriesConf),
    servingCertFile: path(config.servingCertFile),
    servingKeyFile: path(config.servingKeyFile),
  });
}
