import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { runCommand } from '../../processes/command.ts';

/** A self-signed server certificate, which is its own authority. */
export interface ServerCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM to trust. */
  readonly pem: string;
}

/** Makes a certificate for a cluster's API server, or another one, under all its addresses and names, valid for a month. */
export async function createServerCertificate(dir: string, hosts: readonly string[]): Promise<ServerCertificate> {
  const certFile = join(dir, 'apiserver.crt');
  const keyFile = join(dir, 'apiserver.key');
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost', ...hosts];
  const alternatives = names.map((name) => `${isIP(name) ? 'IP' : 'DNS'}:${name}`).join(',');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', '/CN=kube-apiserver', '-addext', `subjectAltName=${alternatives}`];
  await runCommand('openssl', ['req', '-x509', '-days', '31', ...key, ...subject, '-out', certFile]);
  return { certFile, keyFile, pem: await readFile(certFile, 'utf8') };
}
