/** Rule of redirects for every HTTP client. */

/** Default bound of redirects: enough for mirrors and signed addresses. */
export const MAX_REDIRECTS = 5;

interface RedirectQuestion {
  readonly method: string;
  /** URL that gave the answer. */
  readonly url: URL;
  readonly status: number;
  readonly location: string | undefined;
  /** Earlier redirects. */
  readonly followed: number;
  /** Bound of redirects. Default `MAX_REDIRECTS`; 0: a redirect is a normal answer. */
  readonly most?: number;
  /** True for a server that may be read over plain HTTP from https, `host[:port]`; default: none. */
  readonly allowsPlain?: ((host: string) => boolean) | undefined;
}

type Redirect =
  /** It is the final answer. */
  | { readonly kind: 'answer' }
  /** Dropped credentials are never sent again, even when a later redirect leads back. */
  | { readonly kind: 'follow'; readonly url: URL; readonly dropsCredentials: boolean }
  /** The message names only scheme and host of the target. */
  | { readonly kind: 'refused'; readonly why: string };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Decides where a redirect leads. Only reads follow, never from https to http, unless that server is allowed, or to another kind of URL. Credentials
 * stay with the server they are for. Pure.
 */
export function redirectOf({ method, url, status, location, followed, most = MAX_REDIRECTS, allowsPlain }: RedirectQuestion): Redirect {
  const isRead = method === 'GET' || method === 'HEAD';
  if (most === 0 || !isRead || !REDIRECTS.has(status) || location === undefined) return { kind: 'answer' };
  if (followed >= most) return { kind: 'refused', why: `more than ${most} redirects` };
  const next = URL.parse(location, url.href);
  if (!next) return { kind: 'refused', why: 'redirected to what is no URL' };
  const isPlainAllowed = next.protocol === 'http:' && (url.protocol === 'http:' || allowsPlain?.(next.host) === true);
  if (next.protocol !== 'https:' && !isPlainAllowed)
    return {
      kind: 'refused',
      why: `redirected to ${next.protocol}//${next.host}, which is not https: name a server that stays on https`,
    };
  // A password in a location is no credential of ours.
  next.username = '';
  next.password = '';
  return { kind: 'follow', url: next, dropsCredentials: next.origin !== url.origin };
}
