/** One rule of redirects for every HTTP client. */

/** Redirects that a client follows, unless it says otherwise: enough for mirrors and signed addresses. */
export const MAX_REDIRECTS = 5;

/** An answer that may be a redirect. */
interface RedirectQuestion {
  readonly method: string;
  /** Where the answer came from. */
  readonly url: URL;
  readonly status: number;
  readonly location: string | undefined;
  /** Redirects that were followed before it. */
  readonly followed: number;
  /** Redirects that may be followed. Default `MAX_REDIRECTS`; 0: a redirect is an answer like any other. */
  readonly most?: number;
}

/** The verdict on the answer. */
type Redirect =
  /** It is the answer. */
  | { readonly kind: 'answer' }
  /** Credentials that were dropped once are never sent again, also when a later redirect leads back. */
  | { readonly kind: 'follow'; readonly url: URL; readonly dropsCredentials: boolean }
  /** The message names no more of the target than scheme and host. */
  | { readonly kind: 'refused'; readonly why: string };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Decides where a redirect leads: reads alone follow, never from https to http, never to another kind of URL, and with credentials only on the
 * server that they are for. Pure.
 */
export function redirectOf({ method, url, status, location, followed, most = MAX_REDIRECTS }: RedirectQuestion): Redirect {
  const isRead = method === 'GET' || method === 'HEAD';
  if (most === 0 || !isRead || !REDIRECTS.has(status) || location === undefined) return { kind: 'answer' };
  if (followed >= most) return { kind: 'refused', why: `more than ${most} redirects` };
  const next = URL.parse(location, url.href);
  if (!next) return { kind: 'refused', why: 'redirected to what is no URL' };
  if (next.protocol !== 'https:' && (next.protocol !== 'http:' || url.protocol !== 'http:'))
    return {
      kind: 'refused',
      why: `redirected to ${next.protocol}//${next.host}, which is not https: name a server that stays on https`,
    };
  // A password in a location is nobody's credential here.
  next.username = '';
  next.password = '';
  return { kind: 'follow', url: next, dropsCredentials: next.origin !== url.origin };
}
