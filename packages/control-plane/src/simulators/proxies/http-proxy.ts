import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { portOf } from '../../processes/free-port.ts';

/** Options of an HTTP proxy. */
export interface HttpProxyOptions {
  /** Address to listen on; default `127.0.0.1`. */
  readonly host?: string;
  /** `host:port` as clients ask for it → `host:port` where it is; everything else is refused with 502. */
  readonly targets: Readonly<Record<string, string>>;
}

/** A proxy of HTTP as companies have it at their border: CONNECT for HTTPS, whole URLs for HTTP. It looks names up itself. */
export interface HttpProxy extends AsyncDisposable {
  readonly port: number;
  /** Bytes handed to clients, by the `host:port` they asked for; of those that were let through. */
  bytesToClients(): Readonly<Record<string, number>>;
  /** Each `proxy-authorization` that came with requests for a target; an empty text stands for none. */
  credentials(asked: string): readonly string[];
  /** Targets that were asked for and refused. */
  refused(): readonly string[];
  stop(): Promise<void>;
}

/** Starts a proxy that lets clients through to its targets alone. */
export async function startHttpProxy({ host = '127.0.0.1', targets }: HttpProxyOptions): Promise<HttpProxy> {
  const bytes: Record<string, number> = {};
  const refused: string[] = [];
  const credentials = new Map<string, Set<string>>();
  const open = new Set<Socket>();
  const find = (asked: string, { headers }: IncomingMessage): Target | undefined => {
    const given = credentials.get(asked) ?? new Set();
    credentials.set(asked, given.add(headers['proxy-authorization'] ?? ''));
    const target = Object.hasOwn(targets, asked) ? targets[asked] : undefined;
    if (target === undefined) {
      refused.push(asked);
      return undefined;
    }
    const count = (size: number) => {
      bytes[asked] = (bytes[asked] ?? 0) + size;
    };
    return { ...hostAndPort(target), count };
  };
  const server = createServer((asked, answer) => forward(asked, answer, find));
  server.on('connection', (socket) => track(socket, open));
  server.on('connect', (asked, client: Socket, head) => {
    const target = find(asked.url ?? '', asked);
    if (!target) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const upstream = connect({ host: target.host, port: target.port });
    track(upstream, open);
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.on('data', (chunk: Buffer) => target.count(chunk.length));
      upstream.pipe(client);
      client.pipe(upstream);
    });
    upstream.once('close', () => client.destroy());
    client.once('close', () => upstream.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  const stop = async () => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  };
  return {
    port: portOf(server),
    bytesToClients: () => ({ ...bytes }),
    credentials: (asked) => [...(credentials.get(asked) ?? [])],
    refused: () => [...refused],
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly count: (size: number) => void;
}

/** Plain HTTP: the first line of the request is the whole URL. */
function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  find: (asked: string, request: IncomingMessage) => Target | undefined,
): void {
  const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : undefined;
  const target = url && find(`${url.hostname}:${url.port || '80'}`, asked);
  if (!url || !target) return void answer.writeHead(502).end();
  const { 'proxy-connection': _hop, 'proxy-authorization': _secret, ...headers } = asked.headers;
  const upstream = request(
    { host: target.host, port: target.port, method: asked.method, path: url.pathname + url.search, headers },
    (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.on('data', (chunk: Buffer) => target.count(chunk.length));
      got.pipe(answer);
    },
  );
  upstream.on('error', () => answer.destroy());
  answer.on('close', () => upstream.destroy());
  asked.pipe(upstream);
}

function hostAndPort(target: string): { host: string; port: number } {
  const { hostname, port } = new URL(`http://${target}`);
  return { host: hostname, port: Number(port || '80') };
}

function track(socket: Socket, open: Set<Socket>): void {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  // The end of a connection reaches the other side through `close`.
  socket.on('error', () => undefined);
}
