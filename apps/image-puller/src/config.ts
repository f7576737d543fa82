import { errorMessage, TerminalError } from '@flotilla/api';
import { SpokeName } from '@flotilla/api/ran';
import type { RegistryRule } from '@flotilla/registry';
import { type OptionRow, option, readOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { PullerErrorCode } from './errors.ts';

const host = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[^\s?#]+$/, 'must be host or host/path without a scheme')
  .refine((value) => !value.includes('://'), 'must be without a scheme');
const MirrorConfig = z.array(z.strictObject({ source: host, mirrors: z.array(host).max(20), insecure: z.boolean().optional() })).max(200);

/** `REGISTRY_CONFIG`: the same mirrors and plain-http hosts as the node's runtime has, as JSON. */
const Mirrors = z
  .string()
  .max(64 * 1024)
  .optional()
  .transform((value, context) => {
    if (value === undefined) return [];
    let json: unknown;
    try {
      json = JSON.parse(value);
    } catch {
      context.addIssue({
        code: 'custom',
        message: 'is not JSON; write [{"source":"registry.example","mirrors":["mirror:5000"],"insecure":true}]',
      });
      return z.NEVER;
    }
    const parsed = MirrorConfig.safeParse(json);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    context.addIssue({ code: 'custom', message: `${issue?.path.join('.')}: ${issue?.message}` });
    return z.NEVER;
  });

/** `REGISTRY_CONFIG` as rules. An insecure source without mirrors, or with itself among them, is itself spoken to over plain HTTP. */
const toRules = (entries: z.output<typeof MirrorConfig>): RegistryRule[] =>
  entries.map(({ source, mirrors, insecure = false }) => ({
    prefix: source,
    scheme: insecure && (mirrors.length === 0 || mirrors.includes(source)) ? 'http' : 'https',
    mirrors: mirrors.map((location) => ({ location, scheme: insecure ? 'http' : 'https' })),
  }));

/** Words between separators; none is left empty. */
const list = (separator: string) =>
  z
    .string()
    .max(8 * 1024)
    .default('')
    .transform((value) => value.split(separator).flatMap((word) => word.trim() || []));

const proxyUrl = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'is no URL of a proxy; write http://[user:password@]host:port')
  .optional();

const Settings = z.object({
  specDir: z.string().default('/etc/config'),
  store: z.enum(['cri', 'layout']).default('cri'),
  criSocket: list(','),
  storePath: z.string().optional(),
  layoutDir: z.string().default('/var/lib/flotilla/images'),
  pullSecret: z.string().default('/var/lib/kubelet/config.json'),
  registryCa: list(':'),
  registryConfig: Mirrors,
  registriesConfDir: z.string().default('/etc/containers'),
  registryCertsDirs: list(':'),
  httpProxy: proxyUrl,
  httpsProxy: proxyUrl,
  proxyBypass: z.string().optional(),
  nodeName: z.string().default('unknown'),
  namespace: z.string().default(SpokeName.namespace),
  maxParallelPulls: option.whole(1, 64).default(5),
  retryForSeconds: option.whole(0, 7 * 24 * 3600).default(900),
  kubeletConfig: z.string().optional(),
  imageGcHighThresholdPercent: option.whole(1, 100).default(85),
  storeExpansionPercent: option.whole(100, 1_000).optional(),
  logLevel: option.logLevel.default('info'),
  progressConfigMap: z.enum(['on', 'off']).default('on'),
  progressSeconds: option.whole(1, 3600).default(3),
  terminationLog: z.string().default('/dev/termination-log'),
  kubeconfig: z.string().optional(),
});

/** Flag, variable and meaning of each; the README has them by variable. */
const options: readonly OptionRow[] = [
  ['--spec-dir <folder>', 'CONFIG_VOLUME_PATH', 'folder with ConfigMap pre-cache-spec (default /etc/config)'],
  ['--store <store>', 'STORE', "cri: the node's runtime (default); layout: an OCI layout directory"],
  [
    '--cri-socket <list>',
    'CRI_SOCKET',
    "sockets of the runtime, separated by commas; the first that answers is used (default containerd's, then CRI-O's)",
  ],
  ['--store-path <path>', 'STORE_PATH', "path on the store's file system, for the space check; default what the runtime says"],
  ['--layout-dir <folder>', 'LAYOUT_DIR', 'the layout (default /var/lib/flotilla/images)'],
  ['--pull-secret <file>', 'PULL_SECRET_PATH', 'docker config; absent is fine (default /var/lib/kubelet/config.json)'],
  ['--registry-ca <list>', 'REGISTRY_CA', "PEM bundles trusted besides the system's, separated by :"],
  ['--registry-config <json>', 'REGISTRY_CONFIG', "mirrors as JSON; counts instead of what the node's files say"],
  ['--registries-conf-dir <folder>', 'REGISTRIES_CONF_DIR', "folder of the node's registries.conf (default /etc/containers)"],
  [
    '--registry-certs-dirs <list>',
    'REGISTRY_CERTS_DIRS',
    'folders with certificates by host, separated by : (default certs.d of that folder, then /etc/docker/certs.d)',
  ],
  ['--http-proxy <url>', 'HTTP_PROXY', 'proxy for registries over plain HTTP'],
  ['--https-proxy <url>', 'HTTPS_PROXY', 'proxy for registries and token servers'],
  ['--proxy-bypass <hosts>', 'NO_PROXY', 'hosts and networks that are reached directly'],
  ['--node-name <name>', 'NODE_NAME', 'in the log (default unknown)'],
  ['--namespace <namespace>', 'NAMESPACE', 'namespace of ConfigMap pre-cache-progress (default openshift-talo-pre-cache)'],
  ['--max-parallel-pulls <n>', 'MAX_PARALLEL_PULLS', 'images at once (default 5)'],
  ['--retry-for-seconds <n>', 'RETRY_FOR_SECONDS', 'how long one image is tried again without progress (default 900)'],
  ['--kubelet-config <file>', 'KUBELET_CONFIG_PATH', "the kubelet's configuration file: its imageGCHighThresholdPercent counts"],
  [
    '--image-gc-high-threshold-percent <n>',
    'IMAGE_GC_HIGH_THRESHOLD_PERCENT',
    'counts where that file is not there or does not say (default 85)',
  ],
  [
    '--store-expansion-percent <n>',
    'STORE_EXPANSION_PERCENT',
    'what a compressed byte takes in the store (default 250 for cri, 100 for layout)',
  ],
  ['--log-level <level>', 'LOG_LEVEL', 'error, warn, info, debug or silent (default info)'],
  ['--progress-config-map <on>', 'PROGRESS_CONFIG_MAP', 'on or off: write ConfigMap pre-cache-progress (default on)'],
  ['--progress-seconds <n>', 'PROGRESS_SECONDS', 'between two writes of it (default 3)'],
  ['--termination-log <file>', 'TERMINATION_LOG', 'written when the file exists (default /dev/termination-log)'],
  ['--kubeconfig <file>', 'KUBECONFIG', 'where that ConfigMap is; in-cluster when absent'],
];

/** Where a node's runtime listens, in the order they are tried. */
export const DEFAULT_SOCKETS = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'] as const;

/** The program's settings, complete; see README.md for each. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Reads the environment, and flags where somebody starts it by hand.
 * @throws TerminalError `FLOTILLA_PULLER_CONFIG_INVALID` naming the flag and the variable
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  argv: readonly string[] = process.argv.slice(2),
) {
  const settings = readSettings(env, argv);
  const { criSocket, registriesConfDir, registryCertsDirs, store } = settings;
  return Object.freeze({
    specDir: settings.specDir,
    store,
    sockets: criSocket.length > 0 ? criSocket.map((path) => path.replace(/^unix:\/\//, '')) : [...DEFAULT_SOCKETS],
    storePath: settings.storePath,
    layoutDir: settings.layoutDir,
    pullSecretPath: settings.pullSecret,
    registryCaPaths: settings.registryCa,
    registryRules: toRules(settings.registryConfig),
    registriesDir: registriesConfDir,
    certsDirs: registryCertsDirs.length > 0 ? registryCertsDirs : [`${registriesConfDir}/certs.d`, '/etc/docker/certs.d'],
    proxy: { http: settings.httpProxy, https: settings.httpsProxy, no: settings.proxyBypass },
    nodeName: settings.nodeName,
    namespace: settings.namespace,
    parallelPulls: settings.maxParallelPulls,
    retryForMs: settings.retryForSeconds * 1_000,
    kubeletConfigPath: settings.kubeletConfig,
    gcThresholdPercent: settings.imageGcHighThresholdPercent,
    /** A layer in the runtime's store takes its compressed blob and about one and a half times that unpacked; in a layout only the blob. */
    expansion: (settings.storeExpansionPercent ?? (store === 'cri' ? 250 : 100)) / 100,
    logLevel: settings.logLevel,
    progressConfigMap: settings.progressConfigMap === 'on',
    progressMs: settings.progressSeconds * 1000,
    terminationLog: settings.terminationLog,
    kubeconfigPath: settings.kubeconfig,
  });
}

function readSettings(env: Readonly<Record<string, string | undefined>>, argv: readonly string[]) {
  const description = "Flotilla image puller: fills the image store of its node with a release's images.";
  try {
    return readOptions({ program: 'image-puller', description, rows: options, schema: Settings, argv, env: withProxies(env) });
  } catch (cause) {
    throw new TerminalError(PullerErrorCode.configInvalid, errorMessage(cause), { cause });
  }
}

/** Proxy variables are common in lower case too, and without a scheme; capitals count first. */
function withProxies(env: Readonly<Record<string, string | undefined>>) {
  const said = (name: string) => env[name] || env[name.toLowerCase()];
  const url = (name: string) => {
    const value = said(name);
    return value && !value.includes('://') ? `http://${value}` : value;
  };
  return { ...env, HTTP_PROXY: url('HTTP_PROXY'), HTTPS_PROXY: url('HTTPS_PROXY'), NO_PROXY: said('NO_PROXY') };
}
