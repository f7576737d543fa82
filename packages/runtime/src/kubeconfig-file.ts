import { dirname, isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** One server, and as whom it is asked: what a kubeconfig comes to. */
export interface ClusterAccess {
  readonly server: string;
  readonly certificateAuthority: Material;
  readonly skipsVerification: boolean;
  readonly serverName?: string | undefined;
  readonly proxyUrl?: string | undefined;
  readonly user: ClusterUser;
}

/** As whom a server is asked. */
export interface ClusterUser {
  readonly certificate: Material;
  readonly key: Material;
  readonly token?: string | undefined;
  /** Wins over `token`; is read again and again. */
  readonly tokenFile?: string | undefined;
  readonly name?: string | undefined;
  readonly password?: string | undefined;
  readonly impersonation?: Impersonation | undefined;
  /** A program or a provider that has the credentials, as the kubeconfig has it. */
  readonly provider?: { readonly exec?: Json; readonly authProvider?: Json } | undefined;
}

/** As whom a user acts. */
export interface Impersonation {
  readonly user?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly uid?: string | undefined;
  /** Values by key. */
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Base64 of a text, or else the file that holds it. */
export interface Material {
  readonly data?: string | undefined;
  readonly file?: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const object = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((value) => value ?? undefined);
const Named = z.object({ name: z.string() });
const listOf = <T extends z.ZodType>(entry: T) =>
  z
    .array(entry)
    .nullish()
    .transform((list) => list ?? []);

const Cluster = z.object({
  server: text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'tls-server-name': text,
  'proxy-url': text,
});
const User = z.object({
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  // both spellings are in use
  tokenFile: text,
  'token-file': text,
  username: text,
  password: text,
  as: text,
  'as-groups': listOf(z.string()),
  'as-uid': text,
  'as-user-extra': z
    .record(z.string(), listOf(z.string()))
    .nullish()
    .transform((extra) => extra ?? {}),
  exec: object,
  'auth-provider': object,
});
const Kubeconfig = z.object({
  clusters: listOf(Named.extend({ cluster: z.unknown() })),
  users: listOf(Named.extend({ user: z.unknown() })),
  contexts: listOf(Named.extend({ context: z.object({ cluster: text, user: text, namespace: text }).nullish() })),
  'current-context': text,
});

/** A kubeconfig, and the file it is from where it is from one. */
export type Kubeconfig = z.output<typeof Kubeconfig>;

/** Reads a kubeconfig, YAML or JSON. Throws what is wrong with it; none of its text is in the message. */
export function parseKubeconfig(content: string): Kubeconfig {
  // pretty errors quote the line, which may hold a token
  const read: unknown = parse(content, { prettyErrors: false, logLevel: 'error' });
  const parsed = Kubeconfig.safeParse(read ?? {});
  if (parsed.success) return parsed.data;
  throw new Error(z.prettifyError(parsed.error));
}

/**
 * Resolves a context of a kubeconfig; undefined when it names no cluster with a server. Paths count from the kubeconfig's folder.
 * @param path of the file it is from, if it is from one
 */
export function accessOf(config: Kubeconfig, context: string | undefined, path?: string): ClusterAccess | undefined {
  const names = config.contexts.find(({ name }) => name === context)?.context;
  const found = <T extends { readonly name: string }>(list: readonly T[], name: string | undefined) =>
    list.find((one) => one.name === name);
  const cluster = Cluster.nullish().parse(found(config.clusters, names?.cluster)?.cluster);
  if (!cluster?.server) return undefined;
  const user = User.parse(found(config.users, names?.user)?.user ?? {});
  const absolute = (file: string | undefined) =>
    file === undefined || path === undefined || isAbsolute(file) ? file : join(dirname(path), file);
  const material = (data: string | undefined, file: string | undefined): Material => ({ data, file: absolute(file) });
  const { exec: given, 'auth-provider': authProvider } = user;
  const command = given?.command;
  const exec = given && typeof command === 'string' && command.includes('/') ? { ...given, command: absolute(command) } : given;
  return {
    server: cluster.server,
    certificateAuthority: material(cluster['certificate-authority-data'], cluster['certificate-authority']),
    skipsVerification: cluster['insecure-skip-tls-verify'] ?? false,
    serverName: cluster['tls-server-name'],
    proxyUrl: cluster['proxy-url'],
    user: {
      certificate: material(user['client-certificate-data'], user['client-certificate']),
      key: material(user['client-key-data'], user['client-key']),
      token: user.token,
      tokenFile: absolute(user.tokenFile ?? user['token-file']),
      name: user.username,
      password: user.password,
      impersonation: impersonationOf(user),
      provider: exec || authProvider ? { ...(exec && { exec }), ...(authProvider && { authProvider }) } : undefined,
    },
  };
}

function impersonationOf({ as, ...rest }: z.output<typeof User>): Impersonation | undefined {
  const { 'as-groups': groups, 'as-uid': uid, 'as-user-extra': extra } = rest;
  if (as !== undefined) return { user: as, groups, uid, extra };
  if (groups.length === 0 && uid === undefined && Object.keys(extra).length === 0) return undefined;
  throw new Error('as-groups, as-uid and as-user-extra belong to a user: name one in users[].user.as');
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The server and the service account of the pod that this process runs in; undefined outside of one. */
export function podAccess(env: Readonly<Record<string, string | undefined>>): ClusterAccess | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) return undefined;
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    certificateAuthority: { file: `${SERVICE_ACCOUNT}/ca.crt` },
    skipsVerification: false,
    user: { certificate: {}, key: {}, tokenFile: `${SERVICE_ACCOUNT}/token` },
  };
}
