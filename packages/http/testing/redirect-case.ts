/** Servers that redirect, and the required behaviour of every HTTP client: for tests. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_REDIRECTS } from '../src/answer.ts';

/** Fetches a URL with one client, and resolves to the answer's text; rejects without one. */
type FetchByClient = (url: URL, how: { readonly ca: string; readonly authorization: string }) => Promise<string>;

/** Result of a case, with all requests in order; `+` marks one with the credential. */
interface RedirectOutcome {
  readonly end: 'there' | 'refused';
  readonly asked: readonly string[];
}

const CREDENTIAL = 'Basic dTpwYTU1d29yZA==';
/** Start path of each case, on server `secure`. */
const STARTS = {
  'stays on its server': '/same',
  'goes to another server of https': '/other',
  'goes to another server and back': '/back',
  'goes from https to http': '/plain',
  'goes from https to http by way of another server': '/other-plain',
  'goes to another kind of URL': '/ftp',
  'goes round without end': '/loop',
} as const;
/** Names of the cases. */
type RedirectCase = keyof typeof STARTS;

/**
 * Builds the required outcome of every client.
 * @param mark `+` for a client with a credential; empty for one without
 * @param most redirects that the client follows
 */
export const redirectsByRule = (mark: '+' | '', most = MAX_REDIRECTS): Readonly<Record<RedirectCase, RedirectOutcome>> => ({
  'stays on its server': { end: 'there', asked: [`secure /same${mark}`, `secure /there${mark}`] },
  'goes to another server of https': { end: 'there', asked: [`secure /other${mark}`, 'other /there'] },
  'goes to another server and back': { end: 'there', asked: [`secure /back${mark}`, 'other /back', 'secure /there'] },
  'goes from https to http': { end: 'refused', asked: [`secure /plain${mark}`] },
  'goes from https to http by way of another server': { end: 'refused', asked: [`secure /other-plain${mark}`, 'other /plain'] },
  'goes to another kind of URL': { end: 'refused', asked: [`secure /ftp${mark}`] },
  'goes round without end': { end: 'refused', asked: Array<string>(most + 1).fill(`secure /loop${mark}`) },
});

/** Plays every case with a client. */
export async function playRedirects(fetchByClient: FetchByClient): Promise<Record<string, RedirectOutcome>> {
  await using servers = await startServers();
  const outcomes: Record<string, RedirectOutcome> = {};
  for (const [name, path] of Object.entries(STARTS)) {
    servers.asked.length = 0;
    const text = await fetchByClient(new URL(path, servers.secure), { ca: servers.ca, authorization: CREDENTIAL }).catch(() => '');
    outcomes[name] = { end: text.includes('there') ? 'there' : 'refused', asked: [...servers.asked] };
  }
  return outcomes;
}

async function startServers() {
  await using stack = new AsyncDisposableStack();
  const asked: string[] = [];
  const tls = makeCertificate();
  /** Redirect targets by server and path without its query; other paths answer. */
  const targets = new Map<string, string>();
  const answer =
    (server: string): RequestListener =>
    (request, response) => {
      const path = request.url?.split('?', 1)[0] ?? '';
      asked.push(`${server} ${path}${request.headers.authorization === undefined ? '' : '+'}`);
      const location = targets.get(`${server} ${path}`);
      if (location === undefined)
        response.end(JSON.stringify({ there: true, nodes: [{ version: '4.20.1', payload: 'q/there@sha256:1' }] }));
      else response.writeHead(302, { location }).end();
    };
  const start = async (server: Server): Promise<number> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  };
  const secure = `https://localhost:${await start(createHttpsServer(tls, answer('secure')))}`;
  const other = `https://localhost:${await start(createHttpsServer(tls, answer('other')))}`;
  const plain = `http://localhost:${await start(createHttpServer(answer('plain')))}`;
  targets
    .set('secure /same', '/there')
    .set('secure /other', `${other}/there`)
    .set('secure /back', `${other}/back`)
    .set('other /back', `${secure}/there`)
    .set('secure /plain', `${plain}/there`)
    .set('secure /other-plain', `${other}/plain`)
    .set('other /plain', `${plain}/there`)
    .set('secure /ftp', 'ftp://localhost/there')
    .set('secure /loop', '/loop');
  const owned = stack.move();
  return { asked, secure, ca: tls.cert, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function makeCertificate(): { readonly cert: string; readonly key: string } {
  const dir = mkdtempSync(join(tmpdir(), 'flotilla-cert-'));
  try {
    const [cert, key] = [join(dir, 'cert'), join(dir, 'key')];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=test'];
    const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    execFileSync('openssl', ['req', '-x509', '-days', '2', ...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
