import { parseDockerConfig, parseRegistriesConf, RegistryClient } from '@flotilla/registry';
import { readOptionFile } from '@flotilla/runtime';
import type { OperatorConfig } from '../config.ts';

/**
 * Opens the way to registries of release images.
 * @throws FlotillaError `FLOTILLA_CONFIG` for a file that cannot be read, and what its content is refused for
 */
export async function openRegistries(config: OperatorConfig): Promise<RegistryClient> {
  const [pullSecret, ca, registries] = await Promise.all([
    readOptionFile('--pull-secret', config.pullSecret),
    readOptionFile('--registry-ca', config.registryCa),
    readOptionFile('--registries-conf', config.registriesConf),
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
