import { TerminalError } from '@flotilla/api';
import { SpokeName } from '@flotilla/api/ran';
import type { RegistryRule } from '@flotilla/registry';
import { z } from 'zod';
import { PullerErrorCode } from './errors.ts';

const empty = (value: unknown): unknown => (value === '' ? undefined : value);
const text = (fallback: string) => z.preprocess(empty, z.string().default(fallback));
const optionalText = z.preprocess(empty, z.string().optional());
const int = (fallback: number, min: number, max: number) =>
  z.preprocess(empty, z.coerce.number().int().min(min).max(max).default(fallback));

const host = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[^\s?#]+$/, 'must be host or host/path without a scheme')
  .refine((value) => !value.includes('://'), 'must be without a scheme');
const MirrorConfig = z.array(z.strictObject({ source: host, mirrors: z.array(host).max(20), insecure: z.boolean().optional() })).max(200);

/** `REGISTRY_CONFIG`: the same mirrors and plain-http hosts as the node's runtime has, as JSON. */
const Mirrors = z
  .preprocess(
    empty,
    z
      .string()
      .max(64 * 1024)
      .optional(),
  )
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
  z.preprocess(
    empty,
    z
      .string()
      .max(8 * 1024)
      .optional()
      .transform((value) => (value ?? '').split(separator).flatMap((word) => word.trim() || [])),
  );

/** URL of a proxy; the message must not repeat it, for it may hold a password. */
const proxyUrl = z.preprocess(
  (value) => (typeof value === 'string' && value !== '' && !value.includes('://') ? `http://${value}` : empty(value)),
  z
    .string()
    .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'is no URL of a proxy; write http://[user:password@]host:port')
    .optional(),
);

const Environment = z.object({
  CONFIG_VOLUME_PATH: text('/etc/config'),
  STORE: z.preprocess(empty, z.enum(['cri', 'layout']).default('cri')),
  CRI_SOCKET: list(','),
  STORE_PATH: optionalText,
  LAYOUT_DIR: text('/var/lib/flotilla/images'),
  PULL_SECRET_PATH: text('/var/lib/kubelet/config.json'),
  REGISTRY_CA: list(':'),
  REGISTRY_CONFIG: Mirrors,
  REGISTRIES_CONF_DIR: text('/etc/containers'),
  REGISTRY_CERTS_DIRS: list(':'),
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  NO_PROXY: optionalText,
  NODE_NAME: text('unknown'),
  NAMESPACE: text(SpokeName.namespace),
  MAX_PARALLEL_PULLS: int(5, 1, 64),
  RETRY_FOR_SECONDS: int(900, 0, 7 * 24 * 3600),
  KUBELET_CONFIG_PATH: optionalText,
  IMAGE_GC_HIGH_THRESHOLD_PERCENT: int(85, 1, 100),
  STORE_EXPANSION_PERCENT: z.preprocess(empty, z.coerce.number().int().min(100).max(1_000).optional()),
  LOG_LEVEL: z.preprocess(empty, z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('info')),
  PROGRESS_CONFIG_MAP: z.preprocess(empty, z.enum(['on', 'off']).default('on')),
  PROGRESS_SECONDS: int(3, 1, 3600),
  TERMINATION_LOG: text('/dev/termination-log'),
  KUBECONFIG: optionalText,
});

/** Where a node's runtime listens, in the order they are tried. */
export const DEFAULT_SOCKETS = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'] as const;

/** The program's settings, complete; see README.md for each. */
export type Config = ReturnType<typeof parseConfig>;

/**
 * Parses the environment.
 * @throws TerminalError `FLOTILLA_PULLER_CONFIG_INVALID` naming the variable
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>) {
  const parsed = Environment.safeParse(withProxies(environment));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new TerminalError(PullerErrorCode.configInvalid, `environment: ${problems.join('; ')}`);
  }
  const env = parsed.data;
  return Object.freeze({
    specDir: env.CONFIG_VOLUME_PATH,
    store: env.STORE,
    sockets: env.CRI_SOCKET.length > 0 ? env.CRI_SOCKET.map((path) => path.replace(/^unix:\/\//, '')) : [...DEFAULT_SOCKETS],
    storePath: env.STORE_PATH,
    layoutDir: env.LAYOUT_DIR,
    pullSecretPath: env.PULL_SECRET_PATH,
    registryCaPaths: env.REGISTRY_CA,
    registryRules: toRules(env.REGISTRY_CONFIG),
    registriesDir: env.REGISTRIES_CONF_DIR,
    certsDirs: env.REGISTRY_CERTS_DIRS.length > 0 ? env.REGISTRY_CERTS_DIRS : [`${env.REGISTRIES_CONF_DIR}/certs.d`, '/etc/docker/certs.d'],
    proxy: { http: env.HTTP_PROXY, https: env.HTTPS_PROXY, no: env.NO_PROXY },
    nodeName: env.NODE_NAME,
    namespace: env.NAMESPACE,
    parallelPulls: env.MAX_PARALLEL_PULLS,
    retryForMs: env.RETRY_FOR_SECONDS * 1_000,
    kubeletConfigPath: env.KUBELET_CONFIG_PATH,
    gcThresholdPercent: env.IMAGE_GC_HIGH_THRESHOLD_PERCENT,
    /** A layer in the runtime's store takes its compressed blob and about one and a half times that unpacked; in a layout only the blob. */
    expansion: (env.STORE_EXPANSION_PERCENT ?? (env.STORE === 'cri' ? 250 : 100)) / 100,
    logLevel: env.LOG_LEVEL,
    progressConfigMap: env.PROGRESS_CONFIG_MAP === 'on',
    progressMs: env.PROGRESS_SECONDS * 1000,
    terminationLog: env.TERMINATION_LOG,
    kubeconfigPath: env.KUBECONFIG,
  });
}

/** Proxy variables are common in lower case too; capitals count first. */
function withProxies(environment: Readonly<Record<string, string | undefined>>) {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
  return { ...environment, ...Object.fromEntries(names.map((name) => [name, environment[name] || environment[name.toLowerCase()]])) };
}

/** The settings of this process. */
export const loadConfig = (): Config => parseConfig(process.env);
