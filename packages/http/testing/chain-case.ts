/** A server whose certificate comes from a chain of three, and the trust that every client has in it: for tests. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Fetches a URL with one client that trusts a CA file, and resolves to the answer's text; rejects without one. */
type FetchTrusting = (url: URL, ca: string) => Promise<string>;

/** Outcome by the content of the client's CA file, as every Go client has it. */
export const trustByRule = {
  'the root': 'trusted',
  'the issuing authority without its root': 'trusted',
  "the server's own certificate": 'trusted',
  'another root and the issuing authority': 'trusted',
  'another root': 'refused',
} as const;

const BODY = JSON.stringify({ there: true, nodes: [{ version: '4.20.1', payload: 'q/there@sha256:1' }] });

/** Plays every CA file with a client. */
export async function playChains(fetchTrusting: FetchTrusting): Promise<Record<string, 'trusted' | 'refused'>> {
  const chain = makeChain();
  const { root, issuing, leaf, other } = chain;
  const server = createSecureServer({ cert: leaf + issuing, key: chain.key, allowHTTP1: true }, (_, response) => void response.end(BODY));
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = new URL(`https://localhost:${typeof address === 'object' && address ? address.port : 0}/`);
  const files: Record<keyof typeof trustByRule, string> = {
    'the root': root,
    'the issuing authority without its root': issuing,
    "the server's own certificate": leaf,
    'another root and the issuing authority': other + issuing,
    'another root': other,
  };
  try {
    const outcomes: Record<string, 'trusted' | 'refused'> = {};
    for (const [name, ca] of Object.entries(files)) {
      const text = await fetchTrusting(url, ca).catch(() => '');
      outcomes[name] = text.includes('there') ? 'trusted' : 'refused';
    }
    return outcomes;
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A root, an issuing authority, a certificate for localhost with its key, and another root, all PEM, by the machine's openssl. */
export function makeChain() {
  const dir = mkdtempSync(join(tmpdir(), 'flotilla-chain-'));
  const file = (name: string): string => join(dir, name);
  const make = (name: string, extensions: readonly string[], issuer?: string): string => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file(`${name}.key`)];
    const signed = issuer ? ['-CA', file(`${issuer}.crt`), '-CAkey', file(`${issuer}.key`)] : [];
    const added = extensions.flatMap((one) => ['-addext', one]);
    const rest = ['-days', '2', '-subj', `/CN=${name}`, ...added, ...signed, '-out', file(`${name}.crt`)];
    execFileSync('openssl', ['req', '-x509', ...key, ...rest], { stdio: 'ignore' });
    return readFileSync(file(`${name}.crt`), 'utf8');
  };
  try {
    const root = make('root', []);
    const issuing = make('issuing', [], 'root');
    const leaf = make('leaf', ['subjectAltName=DNS:localhost,IP:127.0.0.1', 'basicConstraints=critical,CA:FALSE'], 'issuing');
    return { root, issuing, leaf, key: readFileSync(file('leaf.key'), 'utf8'), other: make('other', []) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
