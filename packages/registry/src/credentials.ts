import { readNamePattern } from '@flotilla/api';
import { z } from 'zod';
import { RegistryError, RegistryErrorCode } from './errors.ts';

/** An entry of `auths`, where Go writes null for an unset field: base64 `auth`, or its two parts, or a refresh token. */
const DockerAuth = z.object({
  auth: z.string().nullish(),
  username: z.string().nullish(),
  password: z.string().nullish(),
  identitytoken: z.string().nullish(),
});

/** Supported part of a Docker `config.json` (or pull secret). Credential helpers are not. */
export const DockerConfig = z.object({
  auths: z
    .record(z.string(), DockerAuth.nullable())
    .nullish()
    .transform((auths) => auths ?? {}),
});
export type DockerConfig = z.output<typeof DockerConfig>;

/** Credential for a registry. */
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

/**
 * Finds the entry for a repository. Keys are `host[:port][/path]`; words of the host may be patterns (`*.example.com`: one word each, as the kubelet
 * matches them). An exact host precedes a pattern, then the longest key wins.
 */
export function findCredential(config: DockerConfig, host: string, repository: string): Credential | undefined {
  let best: { rank: number; value: Credential } | undefined;
  for (const [key, entry] of Object.entries(config.auths)) {
    if (!entry) continue;
    const { host: pattern, path } = canonicalKey(key);
    const isExact = pattern === canonicalHost(host);
    if (!isExact && !matchesHost(pattern, canonicalHost(host))) continue;
    if (path !== '' && repository !== path && !repository.startsWith(`${path}/`)) continue;
    const rank = (isExact ? MAX_KEY : 0) + Math.min(MAX_KEY - 1, pattern.length + path.length);
    if (rank <= (best?.rank ?? -1)) continue;
    const value = toCredential(entry);
    if (value) best = { rank, value };
  }
  return best?.value;
}

/** Names the entry of a host that is no credential and was ignored; undefined without one. */
export function credentialProblem(config: DockerConfig, host: string): string | undefined {
  const ignored = Object.entries(config.auths).find(
    ([key, entry]) => entry?.auth && canonicalKey(key).host === canonicalHost(host) && toCredential(entry) === undefined,
  );
  return ignored && `the pull secret's auth for "${ignored[0]}", which is not base64 of user:password`;
}

/** Length from which keys rank equally. */
const MAX_KEY = 4096;

/** Matches word by word, and the port exactly. */
function matchesHost(pattern: string, host: string): boolean {
  if (!/[*?[]/.test(pattern)) return false;
  const [wanted, given] = [splitHost(pattern), splitHost(host)];
  return (
    wanted.port === given.port &&
    wanted.words.length === given.words.length &&
    wanted.words.every((word, i) => readNamePattern(word)?.(given.words[i] ?? '') ?? false)
  );
}

function splitHost(host: string): { words: string[]; port: string } {
  const port = /:(\d+)$/.exec(host)?.[0] ?? '';
  return { words: host.slice(0, host.length - port.length).split('.'), port };
}

function toCredential(entry: z.output<typeof DockerAuth>): Credential | undefined {
  if (entry.identitytoken) return { username: entry.username ?? '', password: '', identityToken: entry.identitytoken };
  if (typeof entry.username === 'string' && typeof entry.password === 'string')
    return { username: entry.username, password: entry.password };
  if (!entry.auth) return undefined;
  const decoded = Buffer.from(entry.auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  // A placeholder is no credential, as Docker has it.
  if (colon < 0) return undefined;
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1).replace(/(?<!\0)\0+$/, '') };
}

/** Splits a key, which may be a URL (`https://index.docker.io/v1/`), a host or a host/path prefix. */
function canonicalKey(key: string): { host: string; path: string } {
  const bare = key
    .replace(/^https?:\/\//, '')
    .replace(/(?<!\/)\/+$/, '')
    .replace(/\/v[12]$/, '');
  const [host = '', ...path] = bare.split('/');
  return { host: canonicalHost(host), path: path.join('/') };
}

function canonicalHost(host: string): string {
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? 'docker.io' : host;
}
