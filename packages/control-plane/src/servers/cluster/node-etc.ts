import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RuntimeName } from '../../toolchain/debian-packages.ts';

/** Content of a node's own `/etc`. */
export interface NodeEtc {
  readonly runtime: RuntimeName;
  /** Name → address. */
  readonly hosts: Readonly<Record<string, string>>;
  /** PEM of authorities that the node trusts besides those of the machine. */
  readonly trustedAuthorities: readonly string[];
}

/** The trust bundle of the distributions whose programs run here. */
const TRUST_BUNDLE = 'ssl/certs/ca-certificates.crt';
/** The same where a node of OpenShift has it. */
const OPENSHIFT_TRUST_BUNDLE = 'pki/ca-trust/extracted/pem/tls-ca-bundle.pem';

/** Writes the files that lie over the machine's `/etc` into the cluster's folder. */
export async function writeEtc(dir: string, { runtime, hosts, trustedAuthorities }: NodeEtc): Promise<void> {
  const lines = Object.entries(hosts).map(([host, address]) => `${address} ${host}\n`);
  await write(dir, 'hosts', lines.join(''));
  const machine = await readFile(join('/etc', TRUST_BUNDLE), 'utf8').catch(() => '');
  const bundle = [machine, ...trustedAuthorities].join('\n');
  if (trustedAuthorities.length > 0) await write(dir, TRUST_BUNDLE, bundle);
  if (runtime !== 'crio') return;
  await write(dir, OPENSHIFT_TRUST_BUNDLE, bundle);
  await mkdir(join(dir, 'etc/containers'), { recursive: true });
  // The node mounts this folder at `/etc/containers`.
  await mkdir(join(dir, 'etc-containers'), { recursive: true });
}

async function write(dir: string, path: string, text: string): Promise<void> {
  const file = join(dir, 'etc', path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
