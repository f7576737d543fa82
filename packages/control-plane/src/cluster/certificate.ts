import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../processes/command.ts';

/** A self-signed server certificate, which is its own authority. */
export interface ServerCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM to trust. */
  readonly pem: string;
}

/** Makes a certificate for a cluster's API server under all its addresses, valid for a month. */
export async function createServerCertificate(dir: string, addresses: readonly string[]): Promise<ServerCertificate> {
  const certFile = join(dir, 'apiserver.crt');
  const keyFile = join(dir, 'apiserver.key');
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost'].map((name) => `DNS:${name}`);
  const alternatives = [...names, ...addresses.map((address) => `IP:${address}`)].join(',');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', '/CN=kube-apiserver', '-addext', `subjectAltName=${alternatives}`];
  await runCommand('openssl', ['req', '-x509', '-days', '31', ...key, ...subject, '-out', certFile]);
  return { certFile, keyFile, pem: await readFile(certFile, 'utf8') };
}
