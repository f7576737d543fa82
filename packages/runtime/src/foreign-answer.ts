import { errorMessage } from '@flotilla/api';

/** Longest title of a page that is quoted, in characters. */
const MAX_TITLE = 80;

/** Describes an answer that no API server gives, without its text: a redirect, or a page. Undefined for one that may be an API server's. */
export function describeForeign(text: string, status = 200, location = ''): string | undefined {
  if (status >= 300 && status < 400) return `the answer is a redirect${URL.canParse(location) ? ` to ${new URL(location).origin}` : ''}`;
  if (!/^\s*</.test(text)) return undefined;
  const [, title = ''] = /<title>([^<]*)/i.exec(text.slice(0, 4_096)) ?? [];
  const said = title.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TITLE);
  return `the answer is a web page${said === '' ? '' : `: ${said}`}`;
}

const NO_TLS: ReadonlySet<string> = new Set(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

/** Says why there is no connection, and whether something else than an API server is there. */
export function describeNoConnection(error: unknown): { readonly says: string; readonly isForeign: boolean } {
  if (error instanceof Error && 'code' in error && NO_TLS.has(String(error.code)))
    return { says: 'the server does not speak TLS there', isForeign: true };
  // Node's advice is about Node, which nobody sees who runs a program.
  return { says: errorMessage(error).replace(/; if the root CA is installed locally.*$/, ''), isForeign: false };
}
