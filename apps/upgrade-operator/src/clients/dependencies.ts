import { errorMessage } from '@flotilla/api';
import {
  createHttp,
  type Http,
  type HttpCall,
  type HttpSurroundings,
  type RetryPolicy,
  ServiceError,
  ServiceErrorCode,
} from '@flotilla/http';
import type { Ports } from '../ports.ts';

/** Up to three tries: a second and a half between the first two, about twice that before the last (spec/muo 8.6). */
const RETRY: RetryPolicy = { attempts: 3, baseMs: 1_500, floor: 2 / 3, maxMs: 4_000 };
const REDIRECTS = 10;
/** The longest time of a try that the configuration takes. */
const LONGEST_TRY_MS = 60_000;
/** Only whether they answer matters; a page that is longer has answered. */
const MAX_BYTES = 2 ** 20;

/** Asks all at once; one answers by a status below 400. Opens nothing before the first check. */
export function createDependencyProbe(surroundings: HttpSurroundings): Ports['dependencies'] & AsyncDisposable {
  const http = createHttp({
    retry: RETRY,
    ...surroundings,
    name: 'external dependency',
    timeoutMs: LONGEST_TRY_MS,
    maxBytes: MAX_BYTES,
    redirects: REDIRECTS,
  });
  return {
    async check({ urls, timeout }, signal) {
      const call = { method: 'GET', timeoutMs: timeout * 1000, signal } as const;
      const failures = (await Promise.all(urls.map((url) => problemOf(http, url, call)))).filter((problem) => problem !== undefined);
      if (failures.length === 0) return;
      throw new ServiceError(failures[0]?.code ?? ServiceErrorCode.unreachable, failures.map(({ message }) => message).join('; '), {
        cause: failures[0],
      });
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** Worded as spec/muo 8.6 has it. */
async function problemOf(http: Http, text: string, call: Omit<HttpCall, 'url'>): Promise<ServiceError | undefined> {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol))
    return new ServiceError(ServiceErrorCode.notConfigured, `client request error for ${text}: not an http or https URL`);
  try {
    await http.send({ ...call, url });
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // It answered, at length.
    if (error.code === ServiceErrorCode.tooLarge) return undefined;
    return error.reworded(wordsFor(shown(url), error));
  }
}

function wordsFor(url: string, error: ServiceError): string {
  if (error.status >= 500) return `server error for ${url}: ${error.status}`;
  if (error.status >= 400) return `client error for ${url}: ${error.status}`;
  if (error.status >= 300) return `client request error for ${url}: ${error.words || `a redirect to nowhere (${error.status})`}`;
  return `client request error for ${url}: ${errorMessage(error.cause ?? error)}`;
}

/** Without a password that somebody put into it. */
function shown(url: URL): string {
  const copy = new URL(url);
  copy.username = '';
  copy.password = '';
  return copy.href;
}
