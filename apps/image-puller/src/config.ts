import { SpokeName, TerminalError } from '@flotilla/api';
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

const Environment = z.object({
  CONFIG_VOLUME_PATH: text('/etc/config'),
  STORE: z.preprocess(empty, z.enum(['cri', 'layout']).default('cri')),
  CRI_SOCKET: optionalText,
  STORE_PATH: optionalText,
  LAYOUT_DIR: text('/var/lib/flotilla/images'),
  PULL_SECRET_PATH: text('/var/lib/kubelet/config.json'),
  REGISTRY_CA: optionalText,
  REGISTRY_CONFIG: Mirrors,
  NODE_NAME: text('unknown'),
  NAMESPACE: text(SpokeName.namespace),
  MAX_PARALLEL_PULLS: int(5, 1, 64),
  RETRY_FOR_SECONDS: int(900, 0, 7 * 24 * 3600),
  IMAGE_GC_HIGH_THRESHOLD_PERCENT: int(85, 1, 100),
  STORE_EXPANSION_PERCENT: z.preprocess(empty, z.coerce.number().int().min(100).max(1_000).optional()),
  LOG_LEVEL: z.preprocess(empty, z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('info')),
  PROGRESS_CONFIG_MAP: z.preprocess(empty, z.enum(['on', 'off']).default('on')),
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
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new TerminalError(PullerErrorCode.configInvalid, `environment: ${problems.join('; ')}`);
  }
  const env = parsed.data;
  return Object.freeze({
    specDir: env.CONFIG_VOLUME_PATH,
    store: env.STORE,
    sockets: env.CRI_SOCKET ? [env.CRI_SOCKET.replace(/^unix:\/\//, '')] : [...DEFAULT_SOCKETS],
    storePath: env.STORE_PATH,
    layoutDir: env.LAYOUT_DIR,
    pullSecretPath: env.PULL_SECRET_PATH,
    registryCaPath: env.REGISTRY_CA,
    mirrors: env.REGISTRY_CONFIG,
    nodeName: env.NODE_NAME,
    namespace: env.NAMESPACE,
    parallelPulls: env.MAX_PARALLEL_PULLS,
    retryForMs: env.RETRY_FOR_SECONDS * 1_000,
    gcThresholdPercent: env.IMAGE_GC_HIGH_THRESHOLD_PERCENT,
    /** A layer in the runtime's store takes its compressed blob and about one and a half times that unpacked; in a layout only the blob. */
    expansion: (env.STORE_EXPANSION_PERCENT ?? (env.STORE === 'cri' ? 250 : 100)) / 100,
    logLevel: env.LOG_LEVEL,
    progressConfigMap: env.PROGRESS_CONFIG_MAP === 'on',
    terminationLog: env.TERMINATION_LOG,
    kubeconfigPath: env.KUBECONFIG,
  });
}

/** The settings of this process. */
export const loadConfig = (): Config => parseConfig(process.env);
