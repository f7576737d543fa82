import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** A service on this machine that answers as a test has it. */
export interface HostileService extends AsyncDisposable {
  readonly url: URL;
  /** Requests that came in, each with its line as `GET /path?query`. */
  readonly requests: readonly { readonly line: string; readonly authorization: string | undefined; readonly body: string }[];
}

/** Reply to a request: a number is a status without a body. */
export type Reply = number | ((request: IncomingMessage, response: ServerResponse) => void);

/** Starts it: the replies in order, the last one for all that comes after. */
export async function startHostileService(...replies: Reply[]): Promise<HostileService> {
  const requests: { line: string; authorization: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    const reply = replies[Math.min(requests.length, replies.length - 1)] ?? 404;
    const seen = { line: `${request.method} ${request.url}`, authorization: request.headers.authorization, body: '' };
    requests.push(seen);
    request.on('data', (chunk: Buffer) => {
      seen.body += chunk.toString('utf8');
    });
    request.on('end', () => (typeof reply === 'number' ? response.writeHead(reply).end() : reply(request, response)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An answer with this text. */
export const say =
  (text: string, status = 200, headers: Readonly<Record<string, string>> = {}): Reply =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);

/** A JSON answer. */
export const answer = (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reply =>
  say(JSON.stringify(value), status, headers);

/** Half of what it promises, then the connection closes. */
export const half =
  (text: string): Reply =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(text.length) });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  };

/** Closes the connection without a word. */
export const cut: Reply = (request) => void request.socket.destroy();

/** Never answers. */
export const silence: Reply = () => undefined;
