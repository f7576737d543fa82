import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A user of an API server, known by a bearer token. */
export interface ApiUser {
  readonly name: string;
  /** Groups, such as `system:masters` (may do everything). */
  readonly groups?: readonly string[];
}

/** A user with its token. */
export interface Credential extends ApiUser {
  readonly token: string;
}

/** Name of the user that may do everything; every server has it. */
export const ADMIN = 'admin';

/** Gives every user a random token. */
export const createCredentials = (users: readonly ApiUser[]): Credential[] =>
  [{ name: ADMIN, groups: ['system:masters'] }, ...users].map((user) => ({ ...user, token: randomBytes(16).toString('hex') }));

/** Writes the static token file and the service account key; returns their paths. */
export async function writeCredentials(dir: string, credentials: readonly Credential[]): Promise<{ tokenFile: string; keyFile: string }> {
  const tokenFile = join(dir, 'tokens.csv');
  const keyFile = join(dir, 'service-accounts.key');
  const lines = credentials.map(({ token, name, groups = [] }) => `${token},${name},${name},"${groups.join(',')}"\n`);
  await writeFile(tokenFile, lines.join(''), { mode: 0o600 });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  return { tokenFile, keyFile };
}

interface KubeconfigOptions {
  readonly server: string;
  /** PEM of the certificates to trust. */
  readonly certificateAuthority: string;
  readonly user: string;
  readonly token: string;
  /** Name of cluster and context; default `flotilla`. */
  readonly name?: string;
}

/** A kubeconfig as text (JSON, which is YAML too). */
export function renderKubeconfig({ server, certificateAuthority, user, token, name = 'flotilla' }: KubeconfigOptions): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
  });
}
