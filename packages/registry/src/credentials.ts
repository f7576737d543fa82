import { z } from 'zod';
import { RegistryError, RegistryErrorCode } from './errors.ts';

/** One entry of `auths`: base64 `auth`, or the two words of it, or a refresh token. */
const DockerAuth = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
});

/** The part of a Docker `config.json` (or pull secret) that is honoured. Credential helpers are not. */
export const DockerConfig = z.object({ auths: z.record(z.string(), DockerAuth).default({}) });
export type DockerConfig = z.output<typeof DockerConfig>;

/** What to show a registry. */
export interface Credential {
  username: string;
  password: string;
  /** OAuth2 refresh token; used instead of the password where the registry offers tokens. */
  identityToken?: string;
}

/**
 * Parses a pull secret's JSON.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_CREDENTIALS`; the message never holds the text itself.
 */
export function parseDockerConfig(text: string): DockerConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // No cause: V8's message quotes the input, which is a secret.
    throw new RegistryError(RegistryErrorCode.badCredentials, 'the pull secret is not JSON; expected {"auths": {...}}');
  }
  const parsed = DockerConfig.safeParse(json);
  if (parsed.success) return parsed.data;
  const path = parsed.error.issues[0]?.path.join('.') ?? '';
  throw new RegistryError(
    RegistryErrorCode.badCredentials,
    `the pull secret's field "${path}" has the wrong type; expected Docker's config.json`,
  );
}

/** The entry with the longest key that is `host` or a path prefix of `host/repository`, as container runtimes choose it. */
export function findCredential(config: DockerConfig, host: string, repository: string): Credential | undefined {
  const target = `${canonicalHost(host)}/${repository}`;
  let best: { length: number; value: Credential } | undefined;
  for (const [key, entry] of Object.entries(config.auths)) {
    const prefix = canonicalKey(key);
    if (target !== prefix && !target.startsWith(`${prefix}/`)) continue;
    const value = toCredential(key, entry);
    if (value && (!best || prefix.length > best.length)) best = { length: prefix.length, value };
  }
  return best?.value;
}

function toCredential(key: string, entry: z.output<typeof DockerAuth>): Credential | undefined {
  if (entry.identitytoken) return { username: entry.username ?? '', password: '', identityToken: entry.identitytoken };
  if (entry.username !== undefined && entry.password !== undefined) return { username: entry.username, password: entry.password };
  if (!entry.auth) return undefined;
  const decoded = Buffer.from(entry.auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon < 0) {
    throw new RegistryError(RegistryErrorCode.badCredentials, `the pull secret's auth for "${key}" is not base64 of user:password`, {
      host: key,
    });
  }
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1).replace(/\0+$/, '') };
}

/** Keys may be URLs (`https://index.docker.io/v1/`), hosts or host/path prefixes. */
function canonicalKey(key: string): string {
  const bare = key
    .replace(/^https?:\/\//, '')
    .replace(/\/+$/, '')
    .replace(/\/v[12]$/, '');
  const [host = '', ...path] = bare.split('/');
  return [canonicalHost(host), ...path].join('/');
}

function canonicalHost(host: string): string {
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? 'docker.io' : host;
}
