import { type DockerConfig, parseDockerConfig, RegistryClient } from '@flotilla/registry';
import type { Config } from './config.ts';
import type { LinkCap } from './link-cap.ts';
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
export async function openRegistryClient(config: Config, credentials: DockerConfig, cap: LinkCap): Promise<RegistryClient> {
  const registries = await readNodeRegistries(config);
  return new RegistryClient({
    ...registries,
    credentials,
    retry: { maxMs: SILENT_MS },
    bandwidth: cap,
    proxy: config.proxy,
    userAgent: 'flotilla-image-puller',
  });
}
