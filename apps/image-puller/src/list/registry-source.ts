import { readFile, stat } from 'node:fs/promises';
import { errorMessage, TerminalError } from '@flotilla/api';
import type { ResolvedImage as RegistryImage } from '@flotilla/registry';
import {
  type DockerConfig,
  formatImageReference,
  isDenied,
  isTransient,
  parseDockerConfig,
  parseImageReference,
  RegistryClient,
  readLayerFiles,
  resolveImage,
} from '@flotilla/registry';
import type { Config } from '../config.ts';
import { PullerErrorCode } from '../errors.ts';
import { type RetryOptions, withRetries } from '../retry.ts';
import type { ImageSource, ResolvedImage } from './image-source.ts';

/** Pull secrets of whole clusters have some KiB. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * The pull secret; an absent file means none.
 * @throws RegistryError when it does not parse, without its text
 */
export async function readPullSecret(path: string): Promise<DockerConfig> {
  const text = await readSmallFile(path, 'PULL_SECRET_PATH');
  return text === undefined ? { auths: {} } : parseDockerConfig(text);
}

/** A registry client with the node's mirrors, plain-http hosts, CA and the pull secret. */
export async function openRegistryClient(config: Config, credentials: DockerConfig): Promise<RegistryClient> {
  const { mirrors, registryCaPath } = config;
  const ca = registryCaPath === undefined ? undefined : await readSmallFile(registryCaPath, 'REGISTRY_CA');
  if (registryCaPath !== undefined && ca === undefined)
    throw new TerminalError(
      PullerErrorCode.configInvalid,
      `REGISTRY_CA: there is no file ${registryCaPath}; mount the CA there or leave it unset`,
    );
  // an insecure source is one that is itself spoken to over plain http
  const insecureHosts = mirrors
    .filter(({ source, insecure, mirrors: names }) => insecure && (names.length === 0 || names.includes(source)))
    .map(({ source }) => source);
  return new RegistryClient({ credentials, mirrors, ca, insecureHosts, userAgent: 'flotilla-image-puller' });
}

/** The registry behind the list. Each pull spec is resolved once; transient failures are tried again. */
export function createRegistrySource(client: RegistryClient, retry: Omit<RetryOptions, 'isTransient' | 'signal'>): ImageSource {
  const originals = new Map<string, RegistryImage>();
  const refused = new WeakSet<object>();
  const isPassing = (error: unknown): boolean => isTransient(error) && !refused.has(Object(error));
  const attempt = <T>(pullSpec: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const judged = (): Promise<T> =>
      call().catch(async (error: unknown) => {
        if (isDenied(error) && (await answers(client, [...originals.values()], pullSpec, signal))) refused.add(Object(error));
        throw error;
      });
    return withRetries(judged, { ...retry, isTransient: isPassing, signal });
  };
  const resolve = async (pullSpec: string, signal: AbortSignal): Promise<RegistryImage> => {
    const image = originals.get(pullSpec) ?? (await resolveImage(client, parseImageReference(pullSpec), { signal }));
    originals.set(pullSpec, image);
    return image;
  };
  return {
    resolve: async (pullSpec, signal) => toResolved(pullSpec, await attempt(pullSpec, () => resolve(pullSpec, signal), signal)),
    readFiles: ({ pullSpec }, selection, signal) =>
      attempt(pullSpec, async () => readLayerFiles(client, await resolve(pullSpec, signal), { ...selection, signal }), signal),
  };
}

/** Whether the registry of a pull spec answers for another image now: then it is this image that it does not have. */
async function answers(client: RegistryClient, known: readonly RegistryImage[], pullSpec: string, signal: AbortSignal): Promise<boolean> {
  const { host } = parseImageReference(pullSpec);
  const other = known.find(({ reference }) => reference.host === host && formatImageReference(reference) !== pullSpec);
  if (!other) return false;
  return client.headManifest(other.reference, { signal }).then(
    (digest) => digest !== undefined,
    () => false,
  );
}

function toResolved(pullSpec: string, image: RegistryImage): ResolvedImage {
  return {
    pullSpec,
    digest: image.digest,
    referenceDigest: image.top.digest,
    layers: image.layers.map(({ digest, size }) => ({ digest, size })),
    labels: image.config.config?.Labels ?? {},
  };
}

async function readSmallFile(path: string, variable: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES)
      throw new TerminalError(PullerErrorCode.configInvalid, `${variable}: ${path} has more than ${MAX_FILE_BYTES} bytes`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof TerminalError) throw error;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new TerminalError(PullerErrorCode.configInvalid, `${variable}: ${path} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}
