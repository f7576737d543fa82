import { parseDockerConfig, parseRegistriesConf, RegistryClient } from '@flotilla/registry';
import { readOptionFile } from '@flotilla/runtime';
import { callersPath, readProxies } from '../config.ts';
import type { RegistryOptions } from './options.ts';

/**
 * Opens a registry as the options of a command say.
 * @throws FlotillaError `FLOTILLA_CONFIG` for a file that cannot be read; RegistryError for one that is not what its option wants
 */
export async function openRegistry(options: RegistryOptions & { readonly registriesConf?: string | undefined }): Promise<RegistryClient> {
  const read = (flag: string, given: string | undefined) => readOptionFile(flag, given && callersPath(given));
  const pullSecret = await read('--pull-secret', options.pullSecret);
  const mirrors = await read('--registries-conf', options.registriesConf);
  return new RegistryClient({
    rules: mirrors === undefined ? [] : parseRegistriesConf([{ name: options.registriesConf ?? '', text: mirrors }]),
    credentials: pullSecret === undefined ? undefined : parseDockerConfig(pullSecret),
    ca: await read('--registry-ca', options.registryCa),
    insecureHosts: options.insecureRegistry,
    proxy: readProxies(),
    userAgent: 'flotilla',
  });
}
