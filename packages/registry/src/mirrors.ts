import { type RetryPolicy, withRetries } from '@flotilla/http';
import { backOffMs, type Clock } from '@flotilla/pace';
import { Authenticator } from './auth.ts';
import type { RegistryClientOptions } from './client-options.ts';
import { credentialProblem, type DockerConfig } from './credentials.ts';
import { type Endpoint, endpointUrl, isPlainHost, listEndpoints, type RegistryRule } from './endpoint.ts';
import { isTransient, RegistryError, RegistryErrorCode, withProblems, withSkipped } from './errors.ts';
import { formatImageReference, type ImageReference } from './image-reference.ts';
import { requireSuccess } from './response.ts';
import { type Answer, type Call, defaultTimeouts, registryNameOf, Transport, toNetworkError } from './transport.ts';

/** A call to a repository, wherever it is. */
export interface RepositoryCall {
  method: Call['method'];
  path: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Bound of one try, in milliseconds; default none. */
  deadlineMs?: number;
  actions?: 'pull' | 'pull,push';
  /** Tries in all; default the client's retry policy. */
  attempts?: number;
  /** Creates the body for each try. */
  body?: () => Call['body'];
  /** A digest proves the answer, whoever sends it. */
  isProven?: boolean;
  /** Places to ask before mirrors and source. */
  addresses?: readonly Endpoint[];
}

/** Reads the answer of the server that gave it. */
export type ReadAnswer<T> = (answer: Answer, endpoint: Endpoint) => Promise<T>;

/** Jitters the whole wait, so that a fleet does not return in one instant. */
const RETRY: RetryPolicy = { attempts: 5, baseMs: 250, maxMs: 60_000, floor: 0 };
/** Milliseconds for which a failed server is tried last. */
const PENALTY_MS = 30_000;
const MIRROR_ATTEMPTS = 2;

/** The servers of images: mirrors and sources by the rules, each with its credentials and retries. One that failed is tried last for a while. */
export class Mirrors {
  readonly #options: RegistryClientOptions;
  readonly #clock: Clock;
  readonly #transport: Transport;
  readonly #authenticator: Authenticator;
  readonly #credentials: DockerConfig;
  readonly #rules: readonly RegistryRule[];
  readonly #insecureHosts: ReadonlySet<string>;
  readonly #retry: RetryPolicy;
  /** Bound of a small answer, in milliseconds. */
  readonly documentMs: number;
  readonly #penalties = new Map<string, number>();

  constructor(options: RegistryClientOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.documentMs = timeouts.documentMs;
    const { ca, hostTls, proxy, userAgent = 'flotilla', credentials = { auths: {} }, rules = [] } = options;
    this.#transport = new Transport({ ca, hostTls, proxy, timeouts, userAgent });
    this.#credentials = credentials;
    this.#authenticator = new Authenticator({ transport: this.#transport, credentials, clock, documentMs: timeouts.documentMs });
    this.#rules = rules;
    this.#insecureHosts = new Set(options.insecureHosts);
    this.#retry = { ...RETRY, ...options.retry };
  }

  /** Lists every location of an image as `host/repository`: its own name and the mirrors of the rules. */
  placesOf(reference: ImageReference): ReadonlySet<string> {
    const endpoints = listEndpoints(reference, this.#rules, this.#insecureHosts);
    return new Set([`${reference.host}/${reference.repository}`, ...endpoints.map(({ host, repository }) => `${host}/${repository}`)]);
  }

  /** Asks mirrors and source in turn, each with retries, until `read` succeeds; throws the last failure. */
  async call<T>(reference: ImageReference, call: RepositoryCall, read: ReadAnswer<T>): Promise<T> {
    const endpoints = this.#order([...(call.addresses ?? []), ...listEndpoints(reference, this.#rules, this.#insecureHosts)]);
    const skipped: RegistryError[] = [];
    for (const [index, endpoint] of endpoints.entries()) {
      const isLast = index === endpoints.length - 1;
      const attempts = isLast ? this.#retry.attempts : Math.min(MIRROR_ATTEMPTS, this.#retry.attempts);
      try {
        return await this.#attempt(endpoint, call, { reference, read, attempts });
      } catch (error) {
        if (isTransient(error)) this.penalize(endpoint.host);
        if (!(error instanceof RegistryError) || call.signal?.aborted) throw error;
        if (isLast) throw withSkipped(error, skipped);
        skipped.push(error);
      }
    }
    const image = formatImageReference(reference);
    const message = `${image}: the node's registry configuration blocks it and names no other place`;
    throw new RegistryError(RegistryErrorCode.blocked, message, { image, host: reference.host });
  }

  /** Calls the reference's own registry, never a mirror, with retries. For pushes. */
  async callSource<T>(reference: ImageReference, call: RepositoryCall, read: ReadAnswer<T>): Promise<T> {
    const [endpoint] = listEndpoints(reference, [], this.#insecureHosts);
    if (!endpoint) throw new RegistryError(RegistryErrorCode.unreachable, 'no server to ask');
    return this.#attempt(endpoint, call, { reference, read, attempts: call.attempts ?? this.#retry.attempts });
  }

  async #attempt<T>(endpoint: Endpoint, call: RepositoryCall, { reference, read, attempts }: AttemptOptions<T>): Promise<T> {
    const image = formatImageReference(reference);
    const unverified = endpoint.scheme === 'either';
    const { signal } = call;
    const failed = (error: unknown): never => {
      const failure = toNetworkError(error, { image, host: endpoint.host, signal });
      const isRefused = !endpoint.address && failure.code === RegistryErrorCode.unauthorized;
      const credential = isRefused && credentialProblem(this.#credentials, endpoint.host);
      throw withProblems(failure, [
        ...[...new Set([failure.host ?? '', registryNameOf(endpoint.host)])].flatMap(
          (host) => this.#options.hostTls?.get(host)?.problems ?? [],
        ),
        ...(credential ? [credential] : []),
      ]);
    };
    const once = async (): Promise<T> => {
      const { method, headers, deadlineMs, body, actions = 'pull', isProven } = call;
      const url = await this.#urlOf(endpoint, call, image);
      const allowsPlain = isProven ? (host: string) => isPlainHost(host, this.#rules, this.#insecureHosts) : undefined;
      const { host, address } = endpoint;
      const registry = registryNameOf(host);
      const request = { method, url, headers, body: body?.(), signal, deadlineMs, unverified, registry, allowsPlain, image };
      const answer = address
        ? await this.#transport.send(request)
        : await this.#authenticator.send(request, { endpoint, actions, reopen: body });
      await requireSuccess(answer, { image, host, isAddress: address !== undefined });
      return read(answer, endpoint);
    };
    const delayMs = (error: unknown, failures: number) => this.delayMs(error, failures, attempts);
    return withRetries(() => once().catch(failed), { delayMs, clock: this.#clock, signal }).catch(failed);
  }

  /** Milliseconds until the next try; undefined: the failure is final. */
  delayMs(error: unknown, failures: number, attempts = this.#retry.attempts): number | undefined {
    if (!(error instanceof RegistryError) || !isTransient(error) || failures >= attempts) return undefined;
    const askedMs = error.retryAfterMs ?? 0;
    // A long wait is the caller's, who can tell of it and do something else meanwhile.
    if (askedMs > this.#retry.maxMs) return undefined;
    // Jitter is added to the server's `Retry-After`.
    return backOffMs(this.#retry, failures, this.#options.random) + askedMs;
  }

  async #urlOf({ host, repository, scheme, address }: Endpoint, { path, signal }: RepositoryCall, image: string): Promise<URL> {
    if (address) return address;
    if (/^https?:/.test(path)) return new URL(path);
    const spoken = scheme === 'either' ? await this.#transport.detectScheme(host, { image, signal }) : scheme;
    return endpointUrl(host, spoken, `${repository}/${path}`);
  }

  #order(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const now = this.#clock.now();
    const isDown = ({ host }: Endpoint) => (this.#penalties.get(host) ?? 0) > now;
    return [...endpoints.filter((e) => !isDown(e)), ...endpoints.filter(isDown)];
  }

  /** Has a server that failed tried last for a while. */
  penalize(host: string): void {
    this.#penalties.set(host, this.#clock.now() + PENALTY_MS);
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }
}

interface AttemptOptions<T> {
  reference: ImageReference;
  read: ReadAnswer<T>;
  attempts: number;
}
