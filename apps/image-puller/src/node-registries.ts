import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { errorMessage, TerminalError } from '@flotilla/api';
import { type HostTls, parseRegistriesConf, type RegistriesFile, type RegistryRule } from '@flotilla/registry';
import type { Config } from './config.ts';
import { PullerErrorCode } from './errors.ts';
import { listFolder, readSmallFile } from './small-file.ts';

/** Settings of this node for registries. */
interface NodeRegistries {
  readonly rules: readonly RegistryRule[];
  /** TLS by `host[:port]`. */
  readonly hostTls: ReadonlyMap<string, HostTls>;
  /** PEM trusted for every server. */
  readonly ca: string | undefined;
}

/** Settings that name the node's files. */
type NodeRegistrySettings = Pick<Config, 'registriesDir' | 'certsDirs' | 'registryCaPaths' | 'registryRules'>;

/**
 * Reads mirrors and trust of the node: `registries.conf` with the overrides of `REGISTRY_CONFIG`, `certs.d`, and the bundles of `REGISTRY_CA`.
 * @throws RegistryError or TerminalError naming the unusable file
 */
export async function readNodeRegistries(settings: NodeRegistrySettings): Promise<NodeRegistries> {
  const [own, ca, hostTls] = await Promise.all([
    readRules(settings.registriesDir),
    readBundles(settings.registryCaPaths),
    readHostTls(settings.certsDirs),
  ]);
  const given = settings.registryRules;
  const isGiven = ({ prefix }: RegistryRule): boolean =>
    given.some((rule) => prefix === rule.prefix || prefix.startsWith(`${rule.prefix}/`));
  return { rules: [...given, ...own.filter((rule) => !isGiven(rule))], hostTls, ca };
}

async function readRules(dir: string): Promise<RegistryRule[]> {
  const dropIns = join(dir, 'registries.conf.d');
  const names = (await listFolder(dropIns, 'REGISTRIES_CONF_DIR')).filter((name) => name.endsWith('.conf'));
  const files: RegistriesFile[] = [];
  for (const path of [join(dir, 'registries.conf'), ...names.map((name) => join(dropIns, name))]) {
    const text = await readSmallFile(path, 'REGISTRIES_CONF_DIR');
    if (text !== undefined) files.push({ name: path, text });
  }
  return parseRegistriesConf(files);
}

async function readBundles(paths: readonly string[]): Promise<string | undefined> {
  const bundles: string[] = [];
  for (const path of paths) {
    const pem = await readSmallFile(path, 'REGISTRY_CA');
    if (pem === undefined) continue;
    requireUsable({ ca: pem }, 'REGISTRY_CA', path);
    bundles.push(pem);
  }
  if (paths.length > 0 && bundles.length === 0) {
    const problem = `REGISTRY_CA: there is no file ${paths.join(' or ')}; mount the CA there or leave it unset`;
    throw new TerminalError(PullerErrorCode.configInvalid, problem);
  }
  return bundles.length === 0 ? undefined : bundles.join('\n');
}

/** Reads `certs.d` of the first folder with the host, as runtimes do: `*.crt` are authorities, `*.cert` with `*.key` are client certificates. */
async function readHostTls(dirs: readonly string[]): Promise<Map<string, HostTls>> {
  const found = new Map<string, HostTls>();
  for (const dir of dirs) {
    for (const host of await listFolder(dir, 'REGISTRY_CERTS_DIRS')) {
      if (!found.has(host)) found.set(host, await readHostFolder(join(dir, host)));
    }
  }
  return found;
}

async function readHostFolder(dir: string): Promise<HostTls> {
  const names = await listFolder(dir, 'REGISTRY_CERTS_DIRS');
  const read = (name: string): Promise<string | undefined> => readSmallFile(join(dir, name), 'REGISTRY_CERTS_DIRS');
  const authorities: string[] = [];
  for (const name of names.filter((one) => one.endsWith('.crt'))) authorities.push((await read(name)) ?? '');
  const certName = names.find((name) => name.endsWith('.cert') && names.includes(name.replace(/cert$/, 'key')));
  const tls: HostTls = {
    ...(authorities.length > 0 && { ca: authorities.join('\n') }),
    ...(certName && { cert: await read(certName), key: await read(certName.replace(/cert$/, 'key')) }),
  };
  requireUsable(tls, 'REGISTRY_CERTS_DIRS', dir);
  return tls;
}

function requireUsable(tls: HostTls, variable: string, path: string): void {
  try {
    if (tls.ca !== undefined) requireCertificates(tls.ca);
    createSecureContext(tls);
  } catch (error) {
    throw new TerminalError(PullerErrorCode.configInvalid, `${variable}: ${path} cannot be used: ${errorMessage(error)}`, { cause: error });
  }
}

/** OpenSSL silently skips certificates that it cannot read. */
function requireCertificates(pem: string): void {
  const begins = pem.split('-----BEGIN CERTIFICATE-----').slice(1);
  if (begins.length === 0) throw new Error('it has no PEM certificate');
  if (!begins.every((rest) => rest.includes('-----END CERTIFICATE-----'))) throw new Error('a certificate in it is cut');
}
