import { readFileSync, statSync } from 'node:fs';
import { type OptionRow, option, readOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { Transport } from './spokes/choice.ts';

const { flag, whole, port, logLevel } = option;

/** What is in it is the puller's business; that it can be read at all is seen here, not on every spoke. */
function isJsonOrEmpty(text: string): boolean {
  try {
    return text === '' || JSON.parse(text) !== undefined;
  } catch {
    return false; // the caller says what was expected
  }
}

/** Entries separated by commas. */
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean),
  );

/** `host` or `host:port`, as a URL has it. */
const isHost = (text: string): boolean => URL.parse(`http://${text}`)?.host === text.toLowerCase().replace(/:80$/, '');

/** Every cluster's actions carry it twice while it is pre-cached. */
const MAX_CA_BYTES = 64 * 1024;

/** Reads a PEM file; a change of it counts from the next start. */
const caBundle = z
  .string()
  .default('')
  .transform((path, context) => {
    if (path === '') return '';
    try {
      const { size } = statSync(path);
      if (size > MAX_CA_BYTES) throw new RangeError(`it has ${size} bytes, at most ${MAX_CA_BYTES} are accepted`);
      const text = readFileSync(path, 'utf8');
      if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
      throw new TypeError('it holds no certificate in PEM');
    } catch (error) {
      context.addIssue({ code: 'custom', message: `cannot be used: ${error instanceof Error ? error.message : String(error)}` });
      return z.NEVER;
    }
  });

const Config = z
  .object({
    kubeconfig: z.string().optional(),
    role: z.enum(['hub', 'worker']).default('hub'),
    installCrds: flag(false),
    standalone: flag(false),
    autoUpgrades: flag(true),
    talmStrict: flag(false),
    transport: Transport.default('auto'),
    tenancy: flag(false),
    updateGraphUrl: z.url().optional(),
    updateGraphAllow: list.refine((hosts) => hosts.every(isHost), 'must be hosts, each with or without a port, separated by commas'),
    precacheImage: z.string().default(''),
    precacheJobProfile: z.enum(['least-privilege', 'talm']).default('least-privilege'),
    precacheRegistryConfig: z.string().refine(isJsonOrEmpty, 'expected JSON').default(''),
    precacheImageAllow: list,
    precacheHttpProxy: z.string().default(''),
    precacheHttpsProxy: z.string().default(''),
    precacheNoProxy: z.string().default(''),
    precacheCaBundle: caBundle,
    precacheRetrySeconds: whole(0, 7 * 86_400).optional(),
    backupImage: z.string().default(''),
    jobViewSeconds: whole(1, 3600).default(4),
    progressViewSeconds: whole(1, 3600).default(5),
    precacheGraceSeconds: whole(0, 86_400).default(120),
    stepConcurrency: whole(1, 1024).default(12),
    queueStore: z.enum(['auto', 'redis', 'in-process']).default('auto'),
    redisUrl: z.string().optional(),
    redisCa: caBundle,
    httpPort: port.default(8080),
    httpHost: z.string().default('0.0.0.0'),
    namespace: z.string().default('default'),
    leaseName: z.string().default('flotilla-hub'),
    logLevel: logLevel.default('info'),
    insecureGraphCall: flag(false),
    proxy: z.object({ http: z.string().optional(), https: z.string().optional(), no: z.string().optional() }),
  })
  .refine(({ role, redisUrl }) => role === 'hub' || redisUrl !== undefined, {
    path: ['redisUrl'],
    message: 'a worker needs the Redis that its hub uses',
  });
/** Everything the hub can be told, with its defaults. */
export type HubConfig = Readonly<z.output<typeof Config>>;

/** The README's table is this one. */
export const options: readonly OptionRow[] = [
  ['--kubeconfig <file>', 'KUBECONFIG', 'hub API server; in-cluster when absent'],
  ['--role <role>', 'ROLE', 'hub, or worker to run steps that a hub on the same Redis asks for (default hub)'],
  ['--install-crds', 'INSTALL_CRDS', 'install or update the CRDs of ClusterGroupUpgrade and PreCachingConfig at start'],
  [
    '--standalone',
    'STANDALONE',
    'for a hub without RHACM: let spokes in and notice lost ones; with --install-crds also the CRDs of the transport (ManagedCluster, actions, views, works)',
  ],
  [
    '--auto-upgrades [on]',
    'AUTO_UPGRADES',
    'create the first upgrade of each newly imported cluster in namespace ztp-install, as the reference does, where policies are served (default true)',
  ],
  [
    '--talm-strict',
    'TALM_STRICT',
    'decide as the reference does where Flotilla differs; apps/hub/README.md lists where, and what it does not do',
  ],
  [
    '--transport <way>',
    'TRANSPORT',
    'how pre-caching reaches spokes: work (one ManifestWork each), actions (actions and views), or auto (default): work where it is known to be answered',
  ],
  [
    '--tenancy',
    'TENANCY',
    'keep namespaces apart: an upgrade reaches the clusters of the sets that are bound to its namespace, and policies and PreCachingConfigs of its namespace alone',
  ],
  ['--update-graph-url <url>', 'UPDATE_GRAPH_URL', 'update graph to ask instead of the one a policy names'],
  [
    '--update-graph-allow <hosts>',
    'UPDATE_GRAPH_ALLOW',
    'hosts that policies may name as upstream, separated by commas, also on loopback or a link; with --tenancy no others (default there: api.openshift.com)',
  ],
  ['--precache-image <image>', 'PRECACHE_IMAGE', 'image of the puller; PRECACHE_IMG is read too'],
  ['--precache-job-profile <profile>', 'PRECACHE_JOB_PROFILE', 'least-privilege, or talm for the job shape of the reference'],
  ['--precache-registry-config <json>', 'PRECACHE_REGISTRY_CONFIG', 'registry mirrors and plain HTTP for the puller, as JSON'],
  [
    '--precache-image-allow <list>',
    'PRECACHE_IMAGE_ALLOW',
    'images that overrides.preCacheImage may name, separated by commas: prefixes or digests (default: the repository of the configured image)',
  ],
  ['--precache-http-proxy <url>', 'PRECACHE_HTTP_PROXY', 'HTTP_PROXY of the puller on every spoke'],
  ['--precache-https-proxy <url>', 'PRECACHE_HTTPS_PROXY', 'HTTPS_PROXY of the puller on every spoke'],
  ['--precache-no-proxy <hosts>', 'PRECACHE_NO_PROXY', 'NO_PROXY of the puller on every spoke'],
  [
    '--precache-ca-bundle <file>',
    'PRECACHE_CA_BUNDLE',
    'PEM file of certificate authorities that the puller trusts besides those of node and system',
  ],
  ['--precache-retry-seconds <n>', 'PRECACHE_RETRY_SECONDS', "how long the puller tries an image again; the puller's default when absent"],
  ['--backup-image <image>', 'BACKUP_IMAGE', 'image that backs a cluster up; RECOVERY_IMG is read too'],
  ['--job-view-seconds <n>', 'JOB_VIEW_SECONDS', 'how often a spoke reports its job, or an operator that is upgraded (default 4)'],
  ['--progress-view-seconds <n>', 'PROGRESS_VIEW_SECONDS', 'how often a spoke reports its progress (default 5)'],
  [
    '--precache-grace-seconds <n>',
    'PRECACHE_GRACE_SECONDS',
    'how long after the timeout the hub gives up on a spoke that does not answer (default 120)',
  ],
  ['--step-concurrency <n>', 'STEP_CONCURRENCY', 'spokes stepped at the same time (default 12)'],
  ['--queue-store <store>', 'QUEUE_STORE', 'auto, redis or in-process'],
  ['--redis-url <url>', 'REDIS_URL', 'Redis or Valkey that holds the queue'],
  ['--redis-ca <file>', 'REDIS_CA', "PEM file of certificate authorities for a rediss:// URL, instead of the system's"],
  ['--http-port <port>', 'HTTP_PORT', 'port of /healthz, /readyz and /metrics, 0 for any free one (default 8080)'],
  ['--http-host <host>', 'HTTP_HOST', 'address it listens on (default 0.0.0.0)'],
  ['--namespace <namespace>', 'POD_NAMESPACE', 'namespace of the leader election Lease (default default)'],
  ['--lease-name <name>', 'LEASE_NAME', 'name of that Lease (default flotilla-hub)'],
  ['--log-level <level>', 'LOG_LEVEL', 'error, warn, info, debug or silent'],
];

/** Reads options and environment; see `readOptions`. */
export function readConfig(argv: readonly string[] = process.argv.slice(2), env: NodeJS.ProcessEnv = process.env): HubConfig {
  return readOptions({
    program: 'hub',
    description: 'Flotilla hub: reconciles ClusterGroupUpgrades of one hub cluster.',
    rows: options,
    schema: Config,
    argv,
    env,
    otherwise: {
      // The reference's names.
      precacheImage: env.PRECACHE_IMG,
      backupImage: env.RECOVERY_IMG,
      insecureGraphCall: env.INSECURE_GRAPH_CALL || undefined,
      proxy: { http: env.HTTP_PROXY ?? env.http_proxy, https: env.HTTPS_PROXY ?? env.https_proxy, no: env.NO_PROXY ?? env.no_proxy },
    },
  });
}
