import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { dirname } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { type DispatcherOptions, KubeConfig } from '@kubernetes/client-node';
import { RuntimeErrorCode } from './errors.ts';

/** Where a client's connection data comes from; in-cluster when neither text nor path is given. */
export interface KubeconfigSource {
  readonly kubeconfigPath?: string;
  /** The kubeconfig itself, as YAML or JSON. */
  readonly kubeconfig?: string;
  /** Default: `current-context`. */
  readonly context?: string;
}

/** What one connection is made from, at this moment. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly options: DispatcherOptions;
  /** Changes when the certificates do: time for new connections. */
  readonly fingerprint: string;
}

const MAX_KUBECONFIG_BYTES = 4 * 1024 * 1024;

/** Loads a kubeconfig; errors name the source and the fix. */
export function loadKubeconfig(source: KubeconfigSource): { config: KubeConfig; server: string } {
  const config = new KubeConfig();
  const from = source.kubeconfigPath ? `kubeconfig ${source.kubeconfigPath}` : source.kubeconfig ? 'kubeconfig text' : 'in-cluster config';
  try {
    if (source.kubeconfig !== undefined) config.loadFromString(source.kubeconfig);
    else if (source.kubeconfigPath !== undefined) loadFile(config, source.kubeconfigPath);
    else config.loadFromCluster();
  } catch (error) {
    throw invalid(`${from} cannot be read: ${errorMessage(error)}`, error);
  }
  if (source.context !== undefined) {
    if (!config.getContextObject(source.context))
      throw invalid(`${from} has no context ${JSON.stringify(source.context)}: name one of ${names(config)}`);
    config.setCurrentContext(source.context);
  }
  const server = config.getCurrentCluster()?.server;
  if (!server || !URL.canParse(server) || server.includes('undefined')) {
    throw invalid(
      `${from} names no server for context ${JSON.stringify(config.getCurrentContext() ?? '')}: set clusters[].cluster.server, or run in a pod`,
    );
  }
  return { config, server: server.replace(/(?<!\/)\/+$/, '') };
}

/** How others reach the server of a kubeconfig. */
export interface ServerAddress {
  readonly server: string;
  /** PEM in base64; undefined: the public authorities. */
  readonly certificateAuthority: string | undefined;
  /** The kubeconfig accepts any certificate. */
  readonly skipsVerification: boolean;
}

/** Reads what is public of a kubeconfig. Throws `FLOTILLA_KUBECONFIG_INVALID` as `createClient` does, or when its authority cannot be read. */
export function readServerAddress(source: KubeconfigSource): ServerAddress {
  const { config, server } = loadKubeconfig(source);
  const cluster = config.getCurrentCluster();
  const skipsVerification = cluster?.skipTLSVerify === true;
  if (cluster?.caData || !cluster?.caFile) return { server, certificateAuthority: cluster?.caData || undefined, skipsVerification };
  try {
    return { server, certificateAuthority: readFileSync(cluster.caFile).toString('base64'), skipsVerification };
  } catch (error) {
    throw invalid(`certificate-authority ${cluster.caFile} cannot be read: ${errorMessage(error)}`, error);
  }
}

function loadFile(config: KubeConfig, path: string): void {
  if (statSync(path).size > MAX_KUBECONFIG_BYTES) throw new FlotillaError(RuntimeErrorCode.kubeconfig, 'is larger than 4 MiB');
  config.loadFromString(readFileSync(path, 'utf8'));
  config.makePathsAbsolute(dirname(path));
}

const names = (config: KubeConfig): string =>
  config
    .getContexts()
    .map((context) => context.name)
    .join(', ') || '(none)';

const invalid = (message: string, cause?: unknown): FlotillaError => new FlotillaError(RuntimeErrorCode.kubeconfig, message, { cause });

/** Reads tokens and certificates again, runs an exec plug-in if its credential ran out. */
export async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {}))
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, pfx]) hash.update('|').update(asBytes(part));
  const given = Object.fromEntries(
    Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
  return { headers, options: config.createDispatcherOptions(config.getCurrentCluster(), given), fingerprint: hash.digest('hex') };
}

const asBytes = (part: unknown): string | Uint8Array =>
  typeof part === 'string' || part instanceof Uint8Array ? part : JSON.stringify(part ?? '');
