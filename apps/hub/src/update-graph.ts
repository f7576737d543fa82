import { errorMessage, FlotillaError } from '@flotilla/api';
import { quote, type ReleaseLookup, type ReleaseQuery } from '@flotilla/rollout';
import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import { z } from 'zod';

/** Codes of failed lookups. */
export const UpdateGraphCode = {
  /** No answer: no connection, no TLS, no time left, no URL. */
  unreachable: 'FLOTILLA_UPDATE_GRAPH_UNREACHABLE',
  /** An answer other than 200. */
  refused: 'FLOTILLA_UPDATE_GRAPH_REFUSED',
  /** An answer that is no update graph, or too large to be one. */
  malformed: 'FLOTILLA_UPDATE_GRAPH_MALFORMED',
  /** A graph without the version. */
  noVersion: 'FLOTILLA_UPDATE_GRAPH_NO_VERSION',
} as const;

/** Options of `createUpdateGraph`; the configuration passes in what comes from the environment. */
export interface UpdateGraphOptions {
  /** Milliseconds one question may take, redirects and body included; default 30 000. */
  readonly timeoutMs?: number;
  /** Milliseconds an answer is used without asking again; default 300 000. */
  readonly cacheMs?: number;
  /** Milliseconds an old answer stands in while the server fails; default 3 600 000. A release does not change once published. */
  readonly staleMs?: number;
  /** Milliseconds a failure is remembered, so that many upgrades do not wait for the same dead server in turn; default 10 000. */
  readonly failureMs?: number;
  /** Bytes of a body that are read; default 32 MiB. */
  readonly maxBytes?: number;
  /** Proxies as HTTP_PROXY, HTTPS_PROXY and NO_PROXY have them; default: none. */
  readonly proxy?:
    | { readonly http?: string | undefined; readonly https?: string | undefined; readonly no?: string | undefined }
    | undefined;
  /** Accept any certificate; default false. */
  readonly insecure?: boolean;
  /** Told of everybody who looked in vain while a graph was asked: there is an answer. */
  readonly onAnswer?: (waiter: string) => void;
  /** Milliseconds since any moment; default the system's clock. */
  readonly now?: () => number;
}

/** Update graphs, asked over HTTP. */
export interface UpdateGraph {
  /**
   * What is known of a release. Never waits: `pending` begins to ask where nobody does yet.
   * @param waiter told by `onAnswer`
   */
  readonly lookUp: (query: ReleaseQuery, waiter: string) => ReleaseLookup;
  /** Nobody is told any more. */
  close(): Promise<void>;
}

/** Version → release image, of one graph. */
type Releases = ReadonlyMap<string, string>;
interface Entry {
  releases?: Releases;
  fetchedAt: number;
  failure?: FlotillaError;
  failedAt: number;
  /** Who looked while it was asked; absent when it is not. */
  waiting?: Set<string> | undefined;
}

/** Graphs kept; the one looked at longest ago goes first, but none that is being asked. */
const MAX_GRAPHS = 256;
const MAX_REDIRECTS = 5;

const Graph = z.object({
  nodes: z.array(z.object({ version: z.string().default(''), payload: z.string().default('') })).nullish(),
});

/**
 * Looks releases up on update graphs (spec/talm 3.2): one question per graph at a time, whoever asks; answers are kept for
 * `cacheMs`, and used for up to `staleMs` while the server fails. An answer without the version is an answer: a version
 * published later is seen once the answer has aged.
 */
export function createUpdateGraph(options: UpdateGraphOptions = {}): UpdateGraph {
  const { cacheMs = 300_000, staleMs = 3_600_000, failureMs = 10_000, onAnswer = () => undefined, now = () => performance.now() } = options;
  let closed = false;
  const dispatcher = createDispatcher(options);
  const entries = new Map<string, Entry>();

  function entryOf(url: string): Entry {
    const entry = entries.get(url) ?? { fetchedAt: Number.NEGATIVE_INFINITY, failedAt: Number.NEGATIVE_INFINITY };
    entries.delete(url);
    const oldest = entries.size < MAX_GRAPHS ? undefined : entries.entries().find(([, { waiting }]) => waiting === undefined);
    if (oldest) entries.delete(oldest[0]);
    entries.set(url, entry);
    return entry;
  }

  /** What counts now; undefined when it has to be asked for. */
  function answerOf({ releases, fetchedAt, failure, failedAt }: Entry): Releases | FlotillaError | undefined {
    if (releases && now() - fetchedAt < cacheMs) return releases;
    if (!failure || now() - failedAt >= failureMs) return undefined;
    return releases && now() - fetchedAt < staleMs ? releases : failure;
  }

  async function ask(url: string, entry: Entry): Promise<void> {
    try {
      Object.assign(entry, { releases: await fetchReleases(url, dispatcher, options), fetchedAt: now(), failure: undefined });
    } catch (error) {
      const failure = error instanceof FlotillaError ? error : unreachable(url, error);
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
    close: () => {
      closed = true;
      return dispatcher.destroy();
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

async function fetchReleases(
  url: string,
  dispatcher: Dispatcher,
  { timeoutMs = 30_000, maxBytes = 2 ** 25 }: UpdateGraphOptions,
): Promise<Releases> {
  const signal = AbortSignal.timeout(timeoutMs);
  const fail = (error: unknown): never => {
    throw unreachable(url, signal.aborted ? new Error(`no complete answer within ${timeoutMs} ms`) : error);
  };
  const response = await followed(url, (to) => request(to, { dispatcher, signal, headers: { accept: 'application/json' } })).catch(fail);
  if (response.statusCode !== 200) {
    // Read a little and drop the rest, so that the connection is not left hanging with an unread body.
    await response.body.dump({ limit: 65_536, signal }).catch(() => undefined);
    const answer = `error response from update graph url ${withoutCredentials(url)}: ${response.statusCode}`;
    throw new FlotillaError(UpdateGraphCode.refused, answer);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) break;
    }
  } catch (error) {
    fail(error);
  }
  if (size > maxBytes) throw malformed(`more than ${maxBytes} bytes`);
  return parseReleases(Buffer.concat(chunks).toString('utf8'));
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Follows redirects, but none from https to http: whoever sits on that way would choose the image that a fleet installs. */
async function followed(from: string, ask: (url: string) => Promise<Dispatcher.ResponseData>): Promise<Dispatcher.ResponseData> {
  let url = new URL(from);
  for (let left = MAX_REDIRECTS; ; left--) {
    const response = await ask(url.href);
    const { location } = response.headers;
    if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string' || left === 0) return response;
    await response.body.dump({ limit: 65_536 }).catch(() => undefined);
    const next = new URL(location, url);
    if (next.protocol !== 'https:' && next.protocol !== url.protocol)
      throw new Error(`redirected to ${next.href}, which is not https: name an upstream that stays on https`);
    url = next;
  }
}

function parseReleases(text: string): Releases {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw malformed(errorMessage(error), error);
  }
  const graph = Graph.safeParse(body);
  if (!graph.success) {
    const issue = graph.error.issues[0];
    throw malformed(`${issue?.path.join('.') || 'the document'}: ${issue?.message}`, graph.error);
  }
  const releases = new Map<string, string>();
  // The first node of a version that has an image counts.
  for (const { version, payload } of graph.data.nodes ?? []) if (payload && !releases.has(version)) releases.set(version, payload);
  return releases;
}

function unreachable(url: string, cause: unknown): FlotillaError {
  const why = withoutCredentials(errorMessage(cause));
  return new FlotillaError(UpdateGraphCode.unreachable, `unable to request update graph on url ${withoutCredentials(url)}: ${why}`, {
    cause,
  });
}

const malformed = (why: string, cause?: unknown): FlotillaError =>
  new FlotillaError(UpdateGraphCode.malformed, `unable to unmarshal body: ${why}`, { cause });

/** URLs end up in conditions that everybody may read. */
const withoutCredentials = (text: string): string => text.replaceAll(/(https?:\/\/)[^/\s@]*@/gi, '$1');

function createDispatcher({ insecure = false, proxy, timeoutMs = 30_000 }: UpdateGraphOptions): Dispatcher {
  const tls = { rejectUnauthorized: !insecure };
  const common = { connect: { ...tls, timeout: timeoutMs }, connections: 8, keepAliveTimeout: 10_000 };
  return proxy?.http || proxy?.https ? createProxyAgent(proxy, { ...common, requestTls: tls }) : new Agent(common);
}

/** All three are always set: what is left out, undici would take from the environment behind the configuration's back. */
const createProxyAgent = (
  { http = '', https = '', no = '' }: NonNullable<UpdateGraphOptions['proxy']>,
  options: EnvHttpProxyAgent.Options,
): Dispatcher => new EnvHttpProxyAgent({ ...options, httpProxy: http, httpsProxy: https, noProxy: no });
