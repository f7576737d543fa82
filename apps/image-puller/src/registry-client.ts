import { BandwidthLimit, type Clock } from '@flotilla/pace';
import { type DockerConfig, parseDockerConfig, RegistryClient, type RegistryClientOptions } from '@flotilla/registry';
import type { Config } from './config.ts';
import { readNodeRegistries } from './node-registries.ts';
import { readSmallFile } from './small-file.ts';

/** Longest wait in milliseconds that the client makes silently; what a registry asks for beyond it is the run's, which tells. */
const SILENT_MS = 2_000;

/**
 * Reads the pull secret; a missing file means none.
 * @throws RegistryError for malformed text, without quoting it
 */
export async function readPullSecret(path: string): Promise<DockerConfig> {
  const text = await readSmallFile(path, 'PULL_SECRET_PATH');
  return text === undefined ? { auths: {} } : parseDockerConfig(text);
}

/**
 * Opens a registry client with the node's mirrors, trust and proxies, the pull secret and the cap.
 * @throws the error of reading the node's files
 */
export async function openRegistryClient(config: Config, credentials: DockerConfig, take: TakeBytes | undefined): Promise<RegistryClient> {
  const registries = await readNodeRegistries(config);
  const bandwidth = openBandwidth(config.bytesPerSecond, take);
  return new RegistryClient({
    ...registries,
    credentials,
    retry: { maxMs: SILENT_MS },
    ...(bandwidth && { bandwidth }),
    proxy: config.proxy,
    userAgent: 'flotilla-image-puller',
  });
}

/** Share of a second that one range takes: a second gets at most one range too many, three percent. */
const RANGES_PER_SECOND = 32;
/** Smaller ranges would be headers for the most part. Below 512 KiB a second the cap holds in longer intervals. */
const LEAST_RANGE_BYTES = 16 * 1024;
const MOST_RANGE_BYTES = 4 * 1024 * 1024;

/** Returns the bytes of one range under a cap. */
export const rangeBytesUnder = (bytesPerSecond: number): number =>
  Math.min(MOST_RANGE_BYTES, Math.max(LEAST_RANGE_BYTES, Math.floor(bytesPerSecond / RANGES_PER_SECOND)));

/** Waits until so many bytes may be read from registries. */
export type TakeBytes = (bytes: number, signal?: AbortSignal) => Promise<void>;

/** Opens the cap of a spoke's link; undefined without one. */
export function openLimit(bytesPerSecond: number | undefined, clock: Clock): TakeBytes | undefined {
  if (bytesPerSecond === undefined) return undefined;
  const limit = new BandwidthLimit(bytesPerSecond, clock);
  return (bytes, signal) => limit.take(bytes, signal);
}

/** Puts all that is read from registries under the cap; undefined without one. */
export const openBandwidth = (bytesPerSecond: number | undefined, take: TakeBytes | undefined): RegistryClientOptions['bandwidth'] =>
  bytesPerSecond === undefined || !take ? undefined : { take, rangeBytes: rangeBytesUnder(bytesPerSecond) };
