import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  Agent as PlainAgent,
  type RequestListener,
  type ServerResponse,
  request as sendPlain,
} from 'node:http';
import { Agent, createServer as createSecureServer, request as send } from 'node:https';
import { portOf } from '../../processes/free-port.ts';

/** Options of a front. */
export interface HttpFrontOptions {
  /** Certificate and key of an HTTPS server, which is its own authority and lends both to the front. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers a request itself, and returns true; others go on to the server. */
  readonly answers?: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;
  /** Passes on the body of an answer whose head was sent; default: as it is. */
  readonly passes?: (request: IncomingMessage, answer: IncomingMessage, response: ServerResponse) => void;
}

/** An HTTP server in front of another. */
export interface HttpFront extends AsyncDisposable {
  /** Host and port, for a registry's name. */
  readonly at: string;
  readonly url: string;
  /** Cuts all connections. */
  cut(): void;
}

/** Starts a server that passes requests on to `target`. It keeps the client's host, so that locations lead back to it. */
export async function startHttpFront(target: string, { tls, answers, passes }: HttpFrontOptions = {}): Promise<HttpFront> {
  const { hostname, port } = new URL(target);
  const agent = tls ? new Agent({ keepAlive: true, ca: tls.cert }) : new PlainAgent();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (await answers?.(request, response)) return void request.resume();
    const { connection: _, ...headers } = request.headers;
    const options = { agent, hostname, port, path: request.url, method: request.method, headers };
    const forwarded = (tls ? send : sendPlain)(options, (answer) => {
      const { connection: __, ...answered } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, answered);
      response.flushHeaders();
      if (passes) passes(request, answer, response);
      else answer.on('error', () => response.destroy()).pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.on('error', () => forwarded.destroy()).pipe(forwarded);
  };
  const listener: RequestListener = (request, response) => void serve(request, response).catch(() => response.destroy());
  const server = tls ? createSecureServer(tls, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = `127.0.0.1:${portOf(server)}`;
  return {
    at,
    url: `${tls ? 'https' : 'http'}://${at}`,
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      agent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
