import { readFileSync, statSync } from 'node:fs';
import { Transport } from '@flotilla/rollout';
import { type OptionRows, option, proxiesOf, proxySettings, readOptions, schemaOf } from '@flotilla/runtime';
import { z } from 'zod';

const { flag, whole, port, logLevel } = option;

/** Checks only that the text is JSON: here instead of on every spoke. The puller checks the content. */
function isJsonOrEmpty(text: string): boolean {
  try {
    return text === '' || JSON.parse(text) !== undefined;
  } catch {
    return false; // the caller reports the expected form
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

/** Largest bundle: every cluster's actions carry it twice during pre-caching. */
const MAX_CA_BYTES = 64 * 1024;

/** Reads a PEM file; a changed file counts from the next start. */
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

/** Rows of docs/reference/options.md. */
export const options = {
  kubeconfig: ['<file>', z.string().optional(), 'hub API server; in-cluster when absent'],
  role: [
    '<role>',
    z.enum(['hub', 'worker']).default('hub'),
    '`hub`, or `worker`: no election, no reconcilers; runs steps that a hub on the same Redis asks for',
  ],
  installCrds: ['[on]', flag(false), 'install or update the CRDs of ClusterGroupUpgrade and PreCachingConfig at start'],
  standalone: [
    '[on]',
    flag(false),
    'for a hub without RHACM: let spokes in and notice lost ones; with `--install-crds` also the CRDs of the transport (ManagedCluster, actions, views, works)',
  ],
  autoUpgrades: [
    '[on]',
    flag(true),
    'create the first upgrade of each newly imported cluster in namespace `ztp-install`, as TALM does, where policies are served',
  ],
  talmStrict: ['[on]', flag(false), 'decide as TALM does where Flotilla differs; docs/differences.md lists where, and what it does not do'],
  transport: [
    '<way>',
    Transport.default('auto'),
    'how pre-caching reaches spokes: `work` (one ManifestWork each), `actions` (actions and views), or `auto`: work where it is known to be answered',
  ],
  tenancy: [
    '[on]',
    flag(false),
    'keep namespaces apart: an upgrade reaches the clusters of the sets that are bound to its namespace, and policies and PreCachingConfigs of its namespace alone; `--auto-upgrades` is off with it',
  ],
  updateGraphUrl: ['<url>', z.url().optional(), 'update graph to ask instead of the one a policy names'],
  updateGraphAllow: [
    '<hosts>',
    list.refine((hosts) => hosts.every(isHost), 'must be hosts, each with or without a port, separated by commas'),
    "hosts that policies may name as `upstream`, each with or without a port, separated by commas. With `--tenancy` no others are asked, and the default is `api.openshift.com`. Without it others are asked too, but none on loopback, a link or a cloud's metadata address (loopback is asked with `--talm-strict`)",
  ],
  precacheImage: ['<image>', z.string().default(''), 'image of the puller; `PRECACHE_IMG` is read too'],
  precacheJobProfile: [
    '<profile>',
    z.enum(['least-privilege', 'talm']).default('least-privilege'),
    '`least-privilege`, or `talm` for the job shape of TALM',
  ],
  precacheRegistryConfig: [
    '<json>',
    z.string().refine(isJsonOrEmpty, 'expected JSON').default(''),
    'registry mirrors and plain HTTP for the puller, as JSON',
  ],
  precacheImageAllow: [
    '<list>',
    list,
    'images that `overrides.preCacheImage` may name, separated by commas: prefixes of repositories, whole references or digests; the repository of the configured image when absent',
  ],
  precacheHttpProxy: ['<url>', z.string().default(''), '`HTTP_PROXY` of the puller on every spoke'],
  precacheHttpsProxy: ['<url>', z.string().default(''), '`HTTPS_PROXY` of the puller on every spoke'],
  precacheNoProxy: ['<hosts>', z.string().default(''), '`NO_PROXY` of the puller on every spoke'],
  precacheCaBundle: [
    '<file>',
    caBundle,
    'PEM file (64 KiB at most) of certificate authorities that the puller trusts besides those of node and system',
  ],
  precacheRetrySeconds: [
    '<n>',
    whole(0, 7 * 86_400).optional(),
    "how long the puller tries an image again, its `RETRY_FOR_SECONDS`; the puller's default when absent",
  ],
  backupImage: ['<image>', z.string().default(''), 'image that backs a cluster up; `RECOVERY_IMG` is read too'],
  jobViewSeconds: ['<n>', whole(1, 3600).default(4), 'how often a spoke reports its job, or an operator that is upgraded'],
  progressViewSeconds: ['<n>', whole(1, 3600).default(5), 'how often a spoke reports its progress'],
  precacheGraceSeconds: [
    '<n>',
    whole(0, 86_400).default(120),
    'how long after the timeout the hub gives up on a spoke that does not answer',
  ],
  limitPulling: [
    '<n>',
    whole(1, 100_000).optional(),
    'clusters that pre-cache at a time, over all upgrades; ConfigMap `flotilla-limits` in the namespace of the hub wins over it; unlimited when absent',
  ],
  limitUpgrading: ['<n>', whole(1, 100_000).optional(), 'clusters that are upgraded at a time, in the same way'],
  stepConcurrency: ['<n>', whole(1, 1024).default(12), 'spokes stepped at the same time'],
  redisUrl: [
    '<url>',
    z.string().optional(),
    "Redis or Valkey that holds the queue: `redis://`, `rediss://` for TLS, or `unix:///path` of a socket, which workers cannot use; this process's memory when absent",
  ],
  redisCa: ['<file>', caBundle, "PEM file of certificate authorities for a `rediss://` URL, instead of the system's"],
  httpPort: ['<port>', port.default(8080), 'port of /healthz, /readyz and /metrics, 0 for any free one'],
  httpHost: ['<host>', z.string().default('0.0.0.0'), 'address it listens on'],
  namespace: ['<namespace>', z.string().default('default'), 'namespace of the leader election Lease', 'POD_NAMESPACE'],
  leaseName: ['<name>', z.string().default('flotilla-hub'), 'name of that Lease'],
  logLevel: ['<level>', logLevel.default('info'), 'error, warn, info, debug or silent'],
} satisfies OptionRows;

const Config = schemaOf(options)
  .extend({
    insecureGraphCall: flag(false),
    proxy: proxySettings,
  })
  .refine(({ role, redisUrl }) => role === 'hub' || (redisUrl !== undefined && !/^unix:/i.test(redisUrl)), {
    path: ['redisUrl'],
    message: 'a worker needs the Redis that its hub uses, by a host that both reach: redis:// or rediss://',
  })
  .refine(({ talmStrict, limitPulling, limitUpgrading }) => !talmStrict || (limitPulling ?? limitUpgrading) === undefined, {
    path: ['talmStrict'],
    message: 'knows no limits of the fleet: leave it out, or --limit-pulling and --limit-upgrading',
  })
  .refine(({ redisUrl = '', redisCa }) => redisCa === '' || !/^redis:/i.test(redisUrl), {
    path: ['redisUrl'],
    message: 'has no TLS, for which --redis-ca names authorities: write rediss://, or leave --redis-ca out',
  });
/** All settings of the hub, with their defaults. */
export type HubConfig = Readonly<z.output<typeof Config>>;

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
      // The reference uses these names.
      precacheImage: env.PRECACHE_IMG,
      backupImage: env.RECOVERY_IMG,
      insecureGraphCall: env.INSECURE_GRAPH_CALL || undefined,
      proxy: proxiesOf(env),
    },
  });
}
