/** Requests that the console's server takes. A page of somebody else in the same browser, or under a name that leads here, is refused. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A request, as far as it decides. */
interface Asked {
  readonly method: string;
  /** Pattern of the route that the path matched: the path itself has many spellings. */
  readonly route: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** The address that the server listens on, and the secret that its callers know. */
export interface Door {
  readonly port: number;
  readonly token: string;
}

/** A refusal, as HTTP says it. */
interface Refused {
  readonly status: 401 | 403 | 421;
  readonly says: string;
}

/** Content that a page of ours may have; everything comes from the server itself, and nothing may frame it. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Headers of every answer. */
export const SECURITY_HEADERS = {
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

/** Routes below it need the token. */
const API = '/api/';

/** Why a request is refused; undefined for one that is taken. */
export function refusalOf({ method, route, headers }: Asked, { port, token }: Door): Refused | undefined {
  const host = headers.host ?? '';
  // A name that somebody lets resolve to this machine would make their page one of the same origin.
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`)
    return { status: 421, says: `Host is ${JSON.stringify(host)}: open the address that the command printed` };
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    return { status: 403, says: 'Origin is another page: only the console itself may ask' };
  const isApi = route?.startsWith(API) === true;
  if (!isFromHere(headers, method === 'GET' && !isApi))
    return { status: 403, says: 'Sec-Fetch-Site is another page: only the console itself may ask' };
  if (isApi && !hasToken(headers.authorization, token))
    return { status: 401, says: 'the token is missing or wrong: open the address that the command printed' };
  return undefined;
}

/** A link from elsewhere may open the page, as it may open any; nothing else from elsewhere is answered. Programs send no such header. */
function isFromHere(headers: IncomingHttpHeaders, isPage: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin') return true;
  const isOpened = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isPage && (site === 'none' || isOpened);
}

function hasToken(given: string | undefined, token: string): boolean {
  const [said, wanted] = [Buffer.from(given ?? ''), Buffer.from(`Bearer ${token}`)];
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}
