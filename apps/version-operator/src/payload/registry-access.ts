import { readFile, stat } from 'node:fs/promises';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { parseDockerConfig, parseRegistriesConf, RegistryClient } from '@flotilla/registry';
import { type OperatorConfig, pathFromCaller } from '../config.ts';

/** Trust bundles of whole distributions have some hundred KiB. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Opens the way to registries of release images.
 * @throws FlotillaError `FLOTILLA_CONFIG` for a file that cannot be read, and what its content is refused for
 */
export async function openRegistries(config: OperatorConfig): Promise<RegistryClient> {
  const [pullSecret, ca, registries] = await Promise.all([
    readOption('--pull-secret', config.pullSecret),
    readOption('--registry-ca', config.registryCa),
    readOption('--registries-conf', config.registriesConf),
  ]);
  const { httpProxy: http, httpsProxy: https, noProxy: no } = config;
  return new RegistryClient({
    credentials: pullSecret === undefined ? undefined : parseDockerConfig(pullSecret),
    rules: registries === undefined ? [] : parseRegistriesConf([{ name: config.registriesConf ?? '', text: registries }]),
    ca,
    proxy: { http, https, no },
    insecureHosts: config.insecureRegistries,
    userAgent: 'flotilla-version-operator',
  });
}

async function readOption(flag: string, given: string | undefined): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const path = pathFromCaller(given);
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes, at most ${MAX_FILE_BYTES} are read`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_CONFIG', `${flag}: ${path} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}
