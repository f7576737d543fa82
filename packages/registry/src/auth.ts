import { readJson } from '@flotilla/api';
import { parseRetryAfter, readBounded } from '@flotilla/http';
import type { Clock } from '@flotilla/pace';
import { z } from 'zod';
import { type Credential, type DockerConfig, findCredential } from './credentials.ts';
import type { Endpoint } from './endpoint.ts';
import { RegistryError, RegistryErrorCode, tooLargeError } from './errors.ts';
import { askedWait, decodedBody, verdict } from './response.ts';
import { type Answer, type Call, registryNameOf, type Transport } from './transport.ts';

interface Challenge {
  scheme: 'basic' | 'bearer';
  parameters: Record<string, string>;
}

const TokenAnswer = z.object({
  token: z.string().nullish(),
  access_token: z.string().nullish(),
  expires_in: z.number().nullish(),
});

/** Codes of a token server's answers that say nothing of our credentials. */
const PASSING: ReadonlySet<RegistryErrorCode> = new Set([RegistryErrorCode.rateLimited, RegistryErrorCode.unavailable]);
const MAX_TOKEN_BYTES = 256 * 1024;
/** Scopes of one token at most. */
const MOST_SCOPES = 8;
/** Lifetime that the token specification prescribes for an answer without one. */
const DEFAULT_TOKEN_SECONDS = 60;

/** Begins a challenge: a scheme, which a parameter with its `=` is not. */
const SCHEME = /(?:^|,)[ \t]*([A-Za-z][\w-]*)(?=[ \t]+[A-Za-z]|[ \t]*(?:,|$))/g;

/** Parses the challenges of `WWW-Authenticate`: that for a token, else that for a password; undefined without either. */
function parseChallenge(header: string | undefined): Challenge | undefined {
  // Quoted text begins nothing.
  const text = header?.slice(0, 4096) ?? '';
  const schemes = [...text.replaceAll(/"[^"]*"/g, (quoted) => '"'.padEnd(quoted.length, '"')).matchAll(SCHEME)];
  const found = schemes.map(([, name = ''], at) => ({
    name: name.toLowerCase(),
    text: text.slice(schemes[at]?.index, schemes[at + 1]?.index),
  }));
  const namesServer = (one: { readonly name: string; readonly text: string }) => one.name === 'bearer' && /\brealm=/i.test(one.text);
  const challenge = found.find(namesServer) ?? found.find(({ name }) => name === 'basic') ?? found.find(({ name }) => name === 'bearer');
  if (!challenge) return undefined;
  const parameters: Record<string, string> = {};
  for (const [, key = '', quoted, bare] of challenge.text.matchAll(/(?<![a-zA-Z])([a-zA-Z]+)=(?:"([^"]*)"|([^\s",]+))/g)) {
    parameters[key.toLowerCase()] = quoted ?? bare ?? '';
  }
  return { scheme: challenge.name === 'bearer' ? 'bearer' : 'basic', parameters };
}

/** Answers 401 challenges and caches the header per server and scope. */
export class Authenticator {
  readonly #transport: Transport;
  readonly #credentials: DockerConfig;
  readonly #clock: Clock;
  readonly #documentMs: number;
  /** Header value and its expiry, by `host scope`. */
  readonly #headers = new Map<string, { value: string; until: number }>();
  /** Token requests in flight, so that parallel blobs share one. */
  readonly #pending = new Map<string, Promise<string | undefined>>();

  constructor(options: { transport: Transport; credentials: DockerConfig; clock: Clock; documentMs: number }) {
    this.#transport = options.transport;
    this.#credentials = options.credentials;
    this.#clock = options.clock;
    this.#documentMs = options.documentMs;
  }

  /** Sends the call with a cached header, and once more as the server's challenge asks. A second 401 is returned unchanged. */
  async send(call: Call, { endpoint, actions, reopen }: SendOptions): Promise<Answer> {
    const scope = `repository:${endpoint.repository}:${actions}`;
    const key = `${endpoint.host} ${scope}`;
    const known = this.#headers.get(key);
    const usable = known && known.until > this.#clock.now() ? known.value : undefined;
    const first = await this.#transport.send(withAuthorization(call, usable));
    if (first.status !== 401 || first.redirected) return first;
    const challenge = parseChallenge(first.headers['www-authenticate']);
    if (!challenge) return first;
    const value = await this.#authorize(key, { challenge, scope, endpoint, image: call.image, rejected: usable });
    if (value === undefined) return first;
    first.body.destroy();
    return this.#transport.send(withAuthorization(reopen ? { ...call, body: reopen() } : call, value));
  }

  async #authorize(key: string, asked: AuthorizationRequest): Promise<string | undefined> {
    // Another call may have renewed the token meanwhile.
    const current = this.#headers.get(key);
    if (current && current.value !== asked.rejected && current.until > this.#clock.now()) return current.value;
    const pending = this.#pending.get(key);
    if (pending) return pending;
    const started = this.#request(key, asked).finally(() => this.#pending.delete(key));
    this.#pending.set(key, started);
    return started;
  }

  async #request(key: string, { challenge, scope, endpoint, image }: AuthorizationRequest): Promise<string | undefined> {
    const registry = registryNameOf(endpoint.host);
    const credential = findCredential(this.#credentials, registry, endpoint.repository);
    if (challenge.scheme === 'basic') {
      if (!credential) return undefined;
      const value = basic(credential);
      this.#headers.set(key, { value, until: Number.POSITIVE_INFINITY });
      return value;
    }
    const realm = URL.parse(challenge.parameters.realm ?? '');
    if (!realm || (realm.protocol !== 'https:' && !(realm.protocol === 'http:' && endpoint.scheme !== 'https'))) {
      const problem = `token server "${challenge.parameters.realm?.slice(0, 200) ?? ''}" is not an HTTPS URL`;
      throw new RegistryError(RegistryErrorCode.badResponse, `${endpoint.host}: ${problem}`, { image, host: endpoint.host });
    }
    const call = {
      unverified: endpoint.scheme === 'either',
      registry,
      ...tokenCall(realm, { service: challenge.parameters.service, scope: scopesOf(scope, challenge), credential, image }),
    };
    const { token, seconds } = await this.#fetchToken(call);
    const value = `Bearer ${token}`;
    // A tenth early: a token that expires during a request costs a round trip.
    this.#headers.set(key, { value, until: this.#clock.now() + seconds * 900 });
    return value;
  }

  async #fetchToken(call: Call): Promise<{ token: string; seconds: number }> {
    const details = { image: call.image, host: call.url.host };
    const answer = await this.#transport.send({ ...call, deadlineMs: this.#documentMs });
    if (answer.status !== 200) {
      answer.body.destroy();
      const { status } = answer;
      const retryAfterMs = parseRetryAfter(answer.headers['retry-after']);
      const refusal = verdict(status);
      const { code, text } = PASSING.has(refusal.code) ? refusal : { code: RegistryErrorCode.unauthorized, text: 'check the pull secret' };
      const message = `${call.image}: token server ${call.url.host} answered ${status}${askedWait({ retryAfterMs })}; ${text}`;
      throw new RegistryError(code, message, { ...details, status, retryAfterMs });
    }
    const bytes = await readBounded(decodedBody(answer), MAX_TOKEN_BYTES, {
      tooLarge: () => tooLargeError('token answer', MAX_TOKEN_BYTES, details),
    });
    const parsed = TokenAnswer.safeParse(readJson(bytes.toString('utf8')));
    // Servers that leave nothing out say it empty.
    const token = parsed.data?.token || parsed.data?.access_token;
    if (!token) throw new RegistryError(RegistryErrorCode.badResponse, `token server ${call.url.host} answered without a token`, details);
    return { token, seconds: positive(parsed.data?.expires_in) ?? DEFAULT_TOKEN_SECONDS };
  }
}

/** Own scope first, then those of the challenge: some registries name none, or another repository's. */
function scopesOf(own: string, { parameters }: Challenge): string {
  const named = parameters.scope?.split(' ').filter(Boolean) ?? [];
  return [...new Set([own, ...named])].slice(0, MOST_SCOPES).join(' ');
}

const positive = (seconds: number | null | undefined): number | undefined => (seconds && seconds > 0 ? seconds : undefined);

interface SendOptions {
  endpoint: Endpoint;
  actions: 'pull' | 'pull,push';
  /** Creates the body again: the first one is spent when the 401 arrives. */
  reopen?: () => Call['body'];
}

interface AuthorizationRequest {
  challenge: Challenge;
  scope: string;
  endpoint: Endpoint;
  image: string;
  /** Header value that the server has just refused. */
  rejected: string | undefined;
}

function tokenCall(
  realm: URL,
  { service, scope, credential, image }: { service?: string; scope: string; credential?: Credential; image: string },
): Call {
  if (credential?.identityToken) {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: credential.identityToken,
      client_id: 'flotilla',
      scope,
    });
    if (service) form.set('service', service);
    return { method: 'POST', url: realm, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: form.toString(), image };
  }
  const url = new URL(realm);
  if (service) url.searchParams.set('service', service);
  for (const one of scope.split(' ')) url.searchParams.append('scope', one);
  return { method: 'GET', url, headers: credential ? { authorization: basic(credential) } : {}, image };
}

const basic = ({ username, password }: Credential) => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

const withAuthorization = (call: Call, value: string | undefined): Call =>
  value === undefined ? call : { ...call, headers: { ...call.headers, authorization: value } };
