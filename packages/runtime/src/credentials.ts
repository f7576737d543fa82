import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import type { TlsMaterial } from '@flotilla/http';
import type { Provided } from './credential-provider.ts';
import { RuntimeErrorCode } from './errors.ts';
import { execPlugin } from './exec-plugin.ts';
import type { ClusterAccess, ClusterUser, Impersonation, Material } from './kubeconfig-file.ts';

/** Headers of a call; a list is one header for each value. */
export type Headers = Readonly<Record<string, string | string[]>>;

/** Inputs of one connection, at this moment. */
export interface Credentials {
  readonly headers: Headers;
  readonly tls: ClusterTls;
  /** Changes when the certificates do: time for new connections. */
  readonly fingerprint: string;
}

/** Certificates of a connection, and what differs from a usual verification. */
interface ClusterTls extends TlsMaterial {
  readonly rejectUnauthorized?: boolean;
  readonly servername?: string;
}

/** Reads tokens and certificates again, runs an exec plug-in if its credential ran out. */
export async function readCredentials(access: ClusterAccess): Promise<Credentials> {
  const { server, certificateAuthority, skipsVerification, serverName, user } = access;
  if (server.startsWith('http:') && !skipsVerification)
    throw new FlotillaError(
      RuntimeErrorCode.kubeconfig,
      `server ${server}: plain HTTP shows the credentials to anybody on the way; use https`,
    );
  const [ca, ownCert, ownKey, provided] = await Promise.all([
    read(certificateAuthority),
    read(user.certificate),
    read(user.key),
    user.provider ? provide(access) : undefined,
  ]);
  const [cert, key] = [provided?.cert ?? ownCert, provided?.key ?? ownKey];
  const hash = createHash('sha256');
  for (const part of [ca, cert, key]) hash.update('|').update(part ?? '');
  return {
    headers: { ...(await headersOf(user)), ...provided?.headers, ...basicOf(user) },
    tls: {
      ca,
      cert,
      key,
      ...(skipsVerification && { rejectUnauthorized: false }),
      ...(serverName !== undefined && { servername: serverName }),
    },
    fingerprint: hash.digest('hex'),
  };
}

/** A value in the kubeconfig wins over a file, as in Kubernetes' own clients. */
async function read({ data, file }: Material): Promise<Buffer | undefined> {
  if (data !== undefined) return Buffer.from(data, 'base64');
  return file === undefined ? undefined : readFile(file);
}

/** The last token of each user's file. */
const tokens = new WeakMap<ClusterUser, string>();

/** A file that is empty or gone for a moment while it is rotated leaves the last token, as in Kubernetes' own clients. */
async function readToken(user: ClusterUser, file: string): Promise<string> {
  const last = tokens.get(user);
  const token = await readFile(file, 'utf8').then(
    (text) => text.trim(),
    (cause: unknown) => {
      if (last === undefined) throw cause;
      return '';
    },
  );
  if (token !== '') tokens.set(user, token);
  else if (last === undefined)
    throw new FlotillaError(RuntimeErrorCode.kubeconfig, `token file ${file} is empty: write the token of the account into it`);
  return token || (last ?? '');
}

/** Headers by which a call is made as somebody else. */
export const impersonate = ({ user, groups = [], uid, extra = {} }: Impersonation): Headers => ({
  ...(user !== undefined && { 'impersonate-user': user }),
  ...(groups.length > 0 && { 'impersonate-group': [...groups] }),
  ...(uid !== undefined && { 'impersonate-uid': uid }),
  // Characters that no name of a header has are percent-encoded, as the API server reads them.
  ...Object.fromEntries(Object.entries(extra).map(([key, values]) => [`impersonate-extra-${encodeURIComponent(key)}`, [...values]])),
});

async function headersOf(user: ClusterUser): Promise<Headers> {
  const { token, tokenFile, impersonation } = user;
  const bearer = tokenFile === undefined ? token : await readToken(user, tokenFile);
  return {
    ...(bearer && { authorization: `Bearer ${bearer.trim()}` }),
    ...(impersonation && impersonate(impersonation)),
  };
}

const basicOf = ({ name, password = '' }: ClusterUser): Record<string, string> =>
  name === undefined ? {} : { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };

/** Providers by access; each keeps a credential until it runs out. */
const providers = new WeakMap<ClusterAccess, Promise<() => Promise<Provided>>>();

/** The server refused what a program or provider gave: it is asked anew, whatever is said to be valid still. */
export function forgetProvided(access: ClusterAccess): void {
  providers.delete(access);
}

async function provide(access: ClusterAccess): Promise<Provided> {
  const provider = providers.get(access) ?? openProvider(access);
  providers.set(access, provider);
  return (await provider)();
}

async function openProvider(access: ClusterAccess): Promise<() => Promise<Provided>> {
  if (access.user.provider?.exec) return execPlugin(access);
  // loaded by those who need it: the client behind it takes 60 MB of memory
  const { credentialProvider } = await import('./credential-provider.ts');
  return credentialProvider(access);
}
