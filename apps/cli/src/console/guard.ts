/** Requests that the console's server takes. A page of somebody else in the same browser, or under a name that leads here, is refused. */
import type { IncomingHttpHeaders } from 'node:http';

/** A request, as far as it decides. */
interface Asked {
  readonly method: string;
  /** Pattern of the route that the path matched: the path itself has many spellings. */
  readonly route: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** A refusal, as HTTP says it. */
interface Refused {
  readonly status: 403 | 421;
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

/** Routes below it are answered to whoever the door lets in. */
const API = '/api/';

/** A question or a change: it needs a credential. */
export const isApiRoute = (route: string | undefined): boolean => route?.startsWith(API) === true;

/** Why a request is refused; undefined for one that is taken. @param origins those under which the page is opened */
export function refusalOf({ method, route, headers }: Asked, origins: readonly string[]): Refused | undefined {
  const host = headers.host ?? '';
  // A name that somebody lets resolve to this machine would make their page one of the same origin.
  const own = origins.find((origin) => new URL(origin).host === host);
  if (own === undefined)
    return { status: 421, says: `Host is ${JSON.stringify(host)}: open ${origins[0]}, or the address that was printed` };
  if (headers.origin !== undefined && headers.origin !== own)
    return { status: 403, says: 'Origin is another page: only the console itself may ask' };
  if (!isFromHere(headers, method === 'GET' && !isApiRoute(route)))
    return { status: 403, says: 'Sec-Fetch-Site is another page: only the console itself may ask' };
  return undefined;
}

/** A link from elsewhere may open the page, as it may open any; nothing else from elsewhere is answered. Programs send no such header. */
function isFromHere(headers: IncomingHttpHeaders, isPage: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin') return true;
  const isOpened = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isPage && (site === 'none' || isOpened);
}
