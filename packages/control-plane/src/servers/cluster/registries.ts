import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A registry that the node reaches at another place than its name says. */
export interface RegistryMirror {
  /** Host of the image names, `registry.flotilla.test` for example. */
  readonly host: string;
  /** URL to fetch from; a function gets the address of this machine as seen from the cluster. */
  readonly endpoint: string | ((gatewayAddress: string) => string);
  /** PEM that signed the endpoint's certificate; default: what the node trusts. */
  readonly certificateAuthority?: string;
  /** Take any certificate of the endpoint; default false. Plain HTTP needs no word. */
  readonly insecure?: boolean;
  /** Fetch from there by digest alone, as an ImageDigestMirrorSet says; CRI-O only, default false. */
  readonly digestOnly?: boolean;
}

/** A mirror whose place is known. */
export interface PlacedMirror extends Omit<RegistryMirror, 'endpoint'> {
  readonly endpoint: URL;
}

/** Fills in the address of this machine. Throws TypeError when the endpoint is no URL. */
export const placeMirror = ({ endpoint, ...mirror }: RegistryMirror, gatewayAddress: string): PlacedMirror => ({
  ...mirror,
  endpoint: new URL(typeof endpoint === 'string' ? endpoint : endpoint(gatewayAddress)),
});

/** Writes one folder per registry for containerd (`hosts.toml`), which looks there at every pull. */
export async function writeHostsToml(certsDir: string, mirrors: readonly PlacedMirror[]): Promise<void> {
  for (const mirror of mirrors) {
    const folder = join(certsDir, mirror.host);
    await mkdir(folder, { recursive: true });
    const caFile = join(folder, 'ca.crt');
    if (mirror.certificateAuthority) await writeFile(caFile, mirror.certificateAuthority);
    await writeFile(join(folder, 'hosts.toml'), hostsToml(mirror, caFile));
  }
}

/** containerd's words for a mirror; `caFile` is where its certificate authority would lie. */
export function hostsToml({ endpoint, certificateAuthority, insecure }: PlacedMirror, caFile: string): string {
  const lines = [`server = "${endpoint.origin}"`, `[host."${endpoint.origin}"]`, '  capabilities = ["pull", "resolve"]'];
  if (certificateAuthority) lines.push(`  ca = "${caFile}"`);
  if (insecure) lines.push('  skip_verify = true');
  return `${lines.join('\n')}\n`;
}

/** Writes what containers-registries.conf(5) and containers-certs.d(5) describe into a node's `/etc/containers`. */
export async function writeContainersConfig(folder: string, mirrors: readonly PlacedMirror[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { endpoint, certificateAuthority } of mirrors) {
    if (!certificateAuthority) continue;
    await mkdir(join(folder, 'certs.d', endpoint.host), { recursive: true });
    await writeFile(join(folder, 'certs.d', endpoint.host, 'ca.crt'), certificateAuthority);
  }
  await writeFile(join(folder, 'policy.json'), JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  await writeFile(join(folder, 'registries.conf'), registriesConf(mirrors));
}

/** A registries.conf, version 2, as the operator of a cluster writes it from mirror sets. */
export function registriesConf(mirrors: readonly PlacedMirror[]): string {
  const blocks = mirrors.map(({ host, endpoint, insecure, digestOnly }) => {
    const lines = ['[[registry]]', `  prefix = ""`, `  location = "${host}"`];
    if (digestOnly) lines.push('  mirror-by-digest-only = true');
    lines.push('  [[registry.mirror]]', `    location = "${endpoint.host}"`);
    if (insecure || endpoint.protocol === 'http:') lines.push('    insecure = true');
    return lines.join('\n');
  });
  return `${['unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]\nshort-name-mode = ""', ...blocks].join('\n\n')}\n`;
}
