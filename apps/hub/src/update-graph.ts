import { errorMessage, FlotillaError } from '@flotilla/api';
import { type Connections, fetchAnswer, HttpError, HttpErrorCode, openConnections, type ProxySettings } from '@flotilla/http';
import { parseUpdateGraph, releaseImages, updateGraphLimits, withoutCredentials } from '@flotilla/release';
import { quote, type ReleaseLookup, type ReleaseQuery } from '@flotilla/rollout';
import { GRAPH_NOT_ALLOWED, type GraphAccess, graphAccess } from './graph-access.ts';

/** Codes of failed lookups. */
export const UpdateGraphCode = {
  /** No answer: no connection, no TLS, no time left, or no URL. */
  unreachable: 'FLOTILLA_UPDATE_GRAPH_UNREACHABLE',
  /** An answer other than 200. */
  refused: 'FLOTILLA_UPDATE_GRAPH_REFUSED',
  /** An answer that is no update graph, or too large to be one. */
  malformed: 'FLOTILLA_UPDATE_GRAPH_MALFORMED',
  /** A graph without the version. */
  noVersion: 'FLOTILLA_UPDATE_GRAPH_NO_VERSION',
  /** A server that policies may not name. */
  notAllowed: GRAPH_NOT_ALLOWED,
} as const;

/** Options of `createUpdateGraph`; the configuration passes in the environment. */
export interface UpdateGraphOptions {
  /** Timeout of a request in milliseconds, with redirects and body; default 30 000. */
  readonly timeoutMs?: number;
  /** Milliseconds for which an answer is used without a new request; default 300 000. */
  readonly cacheMs?: number;
  /** Milliseconds for which an old answer is used while the server fails; default 3 600 000. A published release does not change. */
  readonly staleMs?: number;
  /** Milliseconds for which a failure is remembered, so that many upgrades do not wait for the same dead server in turn; default 10 000. */
  readonly failureMs?: number;
  /** Bytes of a body that are read; default 8 MiB. */
  readonly maxBytes?: number;
  /** Proxies as HTTP_PROXY, HTTPS_PROXY and NO_PROXY have them; default: none. */
  readonly proxy?: ProxySettings | undefined;
  /** Accept any certificate; default false. */
  readonly insecure?: boolean;
  /** Servers that may be requested; default: all but those on this machine and its links. */
  readonly access?: GraphAccess;
  /** Receives each failure in full; a condition does not repeat it. */
  readonly onFailure?: (failure: FlotillaError) => void;
  /** Receives each waiter of a graph that has been answered. */
  readonly onAnswer?: (waiter: string) => void;
  /** Milliseconds since any moment; default the system's clock. */
  readonly now?: () => number;
}

/** Update graphs over HTTP. */
interface UpdateGraph {
  /**
   * Looks a release up without waiting; `pending` starts a request if none is under way.
   * @param waiter passed to `onAnswer`
   */
  readonly lookUp: (query: ReleaseQuery, waiter: string) => ReleaseLookup;
  /** Ends all callbacks. */
  close(): Promise<void>;
}

/** Release images of one graph, by version. */
type Releases = ReadonlyMap<string, string>;
interface Entry {
  releases?: Releases;
  fetchedAt: number;
  failure?: FlotillaError;
  failedAt: number;
  /** Waiters of a request; absent when none is under way. */
  waiting?: Set<string> | undefined;
}

/** Number of cached graphs; the least recently used goes first, except during its request. */
const MAX_GRAPHS = 256;

/**
 * Looks releases up on update graphs (spec/talm 3.2), with one request per graph at a time. Answers are kept for `cacheMs`, and used for up to
 * `staleMs` while the server fails. An answer without the version counts too, so a version published later is found after `cacheMs`.
 */
export function createUpdateGraph(options: UpdateGraphOptions = {}): UpdateGraph {
  const { cacheMs = 300_000, staleMs = 3_600_000, failureMs = 10_000, onAnswer = () => undefined, now = () => performance.now() } = options;
  const { access = graphAccess(), onFailure = () => undefined } = options;
  let closed = false;
  const { proxy, insecure, timeoutMs: connectMs } = options;
  const connections = openConnections({ proxy, insecure, connectMs, guard: access.guard });
  const entries = new Map<string, Entry>();

  function entryOf(url: string): Entry {
    const entry = entries.get(url) ?? { fetchedAt: Number.NEGATIVE_INFINITY, failedAt: Number.NEGATIVE_INFINITY };
    entries.delete(url);
    const oldest = entries.size < MAX_GRAPHS ? undefined : entries.entries().find(([, { waiting }]) => waiting === undefined);
    if (oldest) entries.delete(oldest[0]);
    entries.set(url, entry);
    return entry;
  }

  /** Returns the valid answer; undefined when a request is due. */
  function answerOf({ releases, fetchedAt, failure, failedAt }: Entry): Releases | FlotillaError | undefined {
    if (releases && now() - fetchedAt < cacheMs) return releases;
    if (!failure || now() - failedAt >= failureMs) return undefined;
    return releases && now() - fetchedAt < staleMs ? releases : failure;
  }

  async function ask(url: string, entry: Entry): Promise<void> {
    try {
      Object.assign(entry, {
        releases: await fetchReleases(url, { ...options, access, connections }),
        fetchedAt: now(),
        failure: undefined,
      });
    } catch (error) {
      const failure = error instanceof FlotillaError ? error : unreachable(url, errorMessage(error), error);
      if (failure.message !== entry.failure?.message) onFailure(failure);
      Object.assign(entry, { failure, failedAt: now() });
    }
    const { waiting = [] } = entry;
    entry.waiting = undefined;
    if (!closed) for (const waiter of waiting) onAnswer(waiter);
  }

  return {
    lookUp: ({ upstream, channel, version }, waiter) => {
      const url = graphUrl(upstream, channel);
      if (url instanceof FlotillaError) return failed(url);
      const entry = entryOf(url);
      const answer = answerOf(entry);
      if (answer instanceof FlotillaError) return failed(answer);
      if (answer) {
        const image = answer.get(version);
        const missing = `unable to find version ${version} on update graph on url ${withoutCredentials(url)}`;
        return image ? { kind: 'known', image } : failed(new FlotillaError(UpdateGraphCode.noVersion, missing));
      }
      if (!entry.waiting) {
        entry.waiting = new Set();
        void ask(url, entry);
      }
      entry.waiting.add(waiter);
      return { kind: 'pending' };
    },
    close: async () => {
      closed = true;
      await connections[Symbol.asyncDispose]();
    },
  };
}

const failed = ({ code, message }: FlotillaError): ReleaseLookup => ({ kind: 'failed', code, message: errorMessage(message) });

function graphUrl(upstream: string, channel: string): string | FlotillaError {
  const url = `${upstream}${upstream.includes('?') ? '&' : '?'}channel=${encodeURIComponent(channel)}`;
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url;
  return new FlotillaError(
    UpdateGraphCode.unreachable,
    `unable to request update graph on url ${withoutCredentials(url)}: upstream ${quote(withoutCredentials(upstream))} is not an http or https URL`,
  );
}

type Fetching = UpdateGraphOptions & { readonly access: GraphAccess; readonly connections: Connections };

async function fetchReleases(
  url: string,
  { access, connections, timeoutMs, maxBytes = updateGraphLimits.bytes }: Fetching,
): Promise<Releases> {
  const asked = new URL(url);
  const isTrusted = access.isTrusted(asked);
  /** Checks redirects too. */
  const dispatcherFor = (next: URL) => {
    const problem = access.problem(next);
    if (problem) throw problem;
    return connections.dispatcherFor(next);
  };
  const headers = { accept: 'application/json' };
  const { status, text } = await fetchAnswer({ url: asked, headers, dispatcherFor, timeoutMs, maxBytes }).catch((error: unknown) => {
    if (error instanceof HttpError && error.code === HttpErrorCode.tooLarge) throw malformed(error.message, error);
    throw unreachable(url, isTrusted ? errorMessage(error) : whyUnreachable(error), error);
  });
  if (status !== 200)
    throw new FlotillaError(UpdateGraphCode.refused, `error response from update graph url ${withoutCredentials(url)}: ${status}`);
  try {
    return releaseImages(parseUpdateGraph(text));
  } catch (error) {
    throw malformed(isTrusted ? errorMessage(error) : 'it is no update graph; the log of the hub says why', error);
  }
}

/**
 * Explains a failed request to a policy's server in our own words. Errors of connections, certificates and redirects quote the server, which the
 * policy's author may not be allowed to reach.
 */
function whyUnreachable(error: unknown): string {
  if (!(error instanceof HttpError)) return 'connection failed';
  if (error.code === HttpErrorCode.timeout) return error.message;
  if (error.code === HttpErrorCode.redirected)
    return 'redirected to where none is followed: name the last server of the redirects, with https';
  const cause = error.cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `connection failed (${code})` : 'connection failed';
}

/** Finds the refusal to connect within an error's causes. */
function refusalOf(error: unknown): FlotillaError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (at instanceof FlotillaError && at.code === UpdateGraphCode.notAllowed) return at;
  return undefined;
}

function unreachable(url: string, why: string, cause: unknown): FlotillaError {
  const refusal = refusalOf(cause);
  const message = `unable to request update graph on url ${withoutCredentials(url)}: ${withoutCredentials(refusal?.message ?? why)}`;
  return new FlotillaError(refusal ? UpdateGraphCode.notAllowed : UpdateGraphCode.unreachable, message, { cause });
}

const malformed = (why: string, cause: unknown): FlotillaError =>
  new FlotillaError(UpdateGraphCode.malformed, `unable to unmarshal body: ${why}`, { cause });
