import { join } from 'node:path';
import { errorMessage, TerminalError } from '@flotilla/api';
import { readCertificates, tlsContext } from '@flotilla/http';
import {
  type DockerConfig,
  type HostTls,
  parseDockerConfig,
  parseRegistriesConf,
  type RegistriesFile,
  RegistryClient,
  type RegistryRule,
} from '@flotilla/registry';
import type { Config } from './config.ts';
import { PullerErrorCode } from './errors.ts';
import type { LinkCap } from './link-cap.ts';
import { leadsTo, listFolder, onNode, readSmallFile } from './small-file.ts';

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

/** Setting of the folders with certificates. */
const SETTING = 'REGISTRY_CERTS_DIRS';

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
    readHostTls(settings.certsDirs, [...settings.certsDirs, settings.registriesDir]),
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
    const certificates = readCertificates(pem);
    if (certificates.length === 0) {
      const problem = `REGISTRY_CA: ${path} cannot be used: it has no readable certificate; give it as PEM`;
      throw new TerminalError(PullerErrorCode.configInvalid, problem);
    }
    bundles.push(...certificates);
  }
  if (paths.length > 0 && bundles.length === 0) {
    const problem = `REGISTRY_CA: there is no file ${paths.join(' or ')}; mount the CA there or leave it unset`;
    throw new TerminalError(PullerErrorCode.configInvalid, problem);
  }
  return bundles.length === 0 ? undefined : bundles.join('\n');
}

/** Reads `certs.d` of the first folder with the host, as runtimes do: `*.crt` are authorities, `*.cert` with `*.key` are client certificates. */
async function readHostTls(dirs: readonly string[], mounted: readonly string[]): Promise<Map<string, HostTls>> {
  const found = new Map<string, HostTls>();
  for (const dir of dirs) {
    for (const host of await listFolder(dir, SETTING)) {
      if (!found.has(host)) found.set(host, await readHostFolder(join(dir, host), mounted));
    }
  }
  return found;
}

/** A file that cannot be used costs that file: the error of its host names it, and no other host sees it. */
async function readHostFolder(dir: string, mounted: readonly string[]): Promise<HostTls> {
  const problems: string[] = [];
  const attempt = async <T>(path: string, use: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await use();
    } catch (error) {
      problems.push(error instanceof TerminalError ? error.message : `${path}: ${errorMessage(error)}`);
      return undefined;
    }
  };
  const names = (await attempt(dir, () => listFolder(dir, SETTING))) ?? [];
  const target = await leadsTo(dir);
  if (names.length === 0 && target !== undefined) problems.push(`${dir}: ${lostLink('folder', target, mounted)}`);
  const authorities: string[] = [];
  for (const path of names.filter((name) => name.endsWith('.crt')).map((name) => join(dir, name))) {
    const certificates = await attempt(path, async () => readCertificates(await readLinked(path, mounted)));
    if (certificates?.length === 0) problems.push(`${path}: it has no readable certificate; put PEM there`);
    authorities.push(...(certificates ?? []));
  }
  const certName = names.find((name) => name.endsWith('.cert'));
  const client = certName && (await attempt(join(dir, certName), () => readClientPair(join(dir, certName), mounted)));
  return {
    ...(authorities.length > 0 && { ca: authorities.join('\n') }),
    ...client,
    ...(problems.length > 0 && { problems }),
  };
}

/** @throws Error when one of both is missing, or they cannot be used together */
async function readClientPair(certPath: string, mounted: readonly string[]): Promise<{ cert: string; key: string }> {
  const pair = { cert: await readLinked(certPath, mounted), key: await readLinked(certPath.replace(/cert$/, 'key'), mounted) };
  tlsContext(pair);
  return pair;
}

/** @throws Error naming the link's target when that is missing */
async function readLinked(path: string, mounted: readonly string[]): Promise<string> {
  const text = await readSmallFile(path, SETTING);
  if (text !== undefined) return text;
  const target = await leadsTo(path);
  throw new Error(target === undefined ? 'it is not there' : lostLink('file', target, mounted));
}

/** The sentence on a link whose target the pod does not find: it cannot know what the node has outside of its mounts. */
function lostLink(what: 'file' | 'folder', target: string, mounted: readonly string[]): string {
  const isSeen = mounted.some((folder) => target.startsWith(`${folder}/`));
  if (isSeen) return `it leads to ${onNode(target)}, which is not there; put the ${what} itself in its place`;
  const folders = mounted.map(onNode).join(', ');
  const instead = `put the ${what} itself in its place, or name an authority in REGISTRY_CA (annotation flotilla.io/ca-bundle-path)`;
  return `it leads to ${onNode(target)}, outside of the folders that this pod has of the node (${folders}): ${instead}`;
}
