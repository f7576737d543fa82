import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { Registry } from 'prom-client';

/** Where a program is asked how it is. */
export interface Listen {
  /** Default: all addresses. */
  readonly host?: string;
  /** Port of /healthz and /readyz, and of /metrics unless that has one of its own. 0 takes a free one. */
  readonly port: number;
  readonly metricsPort?: number;
  /** Over TLS and to one client alone; needs a port of its own. Default: plainly, to everybody. */
  readonly protectedMetrics?: ProtectedMetrics;
}

interface Served {
  /** Why the program is not ready; undefined when it is. */
  readonly notReady: () => string | undefined;
  readonly registry: Registry;
}

/** A server of probes and metrics. */
export interface Probes extends AsyncDisposable {
  readonly port: number;
  readonly metricsPort: number;
}

/** Serves `/healthz` (the process answers), `/readyz` and `/metrics`. */
export async function serveProbes(listen: Listen, { notReady, registry }: Served): Promise<Probes> {
  const health = {
    '/healthz': () => ({ code: 200, text: 'ok' }),
    '/readyz': () => ({ code: notReady() === undefined ? 200 : 503, text: notReady() ?? 'ok' }),
  };
  const metrics = { '/metrics': async () => ({ code: 200, text: await registry.metrics(), type: registry.contentType }) };
  const { protectedMetrics } = listen;
  const isApart = protectedMetrics !== undefined || (listen.metricsPort !== undefined && listen.metricsPort !== listen.port);
  await using stack = new AsyncDisposableStack();
  const serve = async (port: number, routes: Routes, protection?: ProtectedMetrics): Promise<number> => {
    const limits = { requestTimeout: 10_000, headersTimeout: 10_000 };
    const server = protection ? createProtectedServer(protection, limits) : createServer(limits);
    server.on(
      'request',
      answerWith(routes, (request) => protection && refusalOf(request, protection)),
    );
    await open(server, port, listen.host);
    stack.defer(() => closed(server));
    const address = server.address();
    return typeof address === 'object' && address ? address.port : port;
  };
  const port = await serve(listen.port, isApart ? health : { ...health, ...metrics });
  const metricsPort = isApart ? await serve(listen.metricsPort ?? 0, metrics, protectedMetrics) : port;
  const servers = stack.move();
  return { port, metricsPort, [Symbol.asyncDispose]: () => servers.disposeAsync() };
}

interface Answer {
  readonly code: number;
  readonly text: string;
  readonly type?: string;
}
type Routes = Readonly<Record<string, () => Answer | Promise<Answer>>>;

function answerWith(routes: Routes, refuse: (request: IncomingMessage) => Answer | undefined): RequestListener {
  const find = async (request: IncomingMessage): Promise<Answer> => {
    const refused = refuse(request);
    if (refused) return refused;
    const { method, url = '' } = request;
    const [path = ''] = url.split('?', 1);
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (!route) return { code: 404, text: 'not found' };
    return method === 'GET' || method === 'HEAD' ? route() : { code: 405, text: 'only GET' };
  };
  return (request, response) => {
    void find(request)
      .catch(() => ({ code: 500, text: 'cannot be told', type: undefined }))
      .then(({ code, text, type = 'text/plain' }) => response.writeHead(code, { 'content-type': type }).end(text));
  };
}

async function open(server: Server | SecureServer, port: number, host: string | undefined): Promise<void> {
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen({ port, host }, () => listening.resolve());
  await listening.promise;
}

const closed = (server: Server | SecureServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** Has metrics served over TLS, and to one client alone, who shows a certificate. */
interface ProtectedMetrics {
  /** PEM; read again when it changes. */
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM of the authorities that the client's certificate is from, as they are now; undefined while they are not known. */
  readonly clientAuthorities: () => string | undefined;
  /** Common name of the client. */
  readonly client: string;
}

interface Refusal {
  readonly code: 401 | 403 | 500;
  readonly text: string;
}

/** A server whose certificate and authorities are those of the moment of each connection. Throws when the files cannot be read. */
function createProtectedServer(protection: ProtectedMetrics, limits: { requestTimeout: number; headersTimeout: number }): SecureServer {
  const material = () => ({
    cert: readFileSync(protection.certFile),
    key: readFileSync(protection.keyFile),
    ca: protection.clientAuthorities() ?? [],
  });
  // whoever shows none is told so, which a refused handshake would not
  const server = createSecureServer({ ...limits, ...material(), requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.2' });
  server.prependListener('connection', () => {
    try {
      server.setSecureContext(material());
    } catch {
      // files that are just being replaced: those from before count
    }
  });
  return server;
}

/** Finds why a request may not read; undefined when it may. The words are those that whoever scrapes the reference operator knows. */
function refusalOf({ socket }: IncomingMessage, { client, clientAuthorities }: ProtectedMetrics): Refusal | undefined {
  if (clientAuthorities() === undefined) return { code: 500, text: 'the authorities of client certificates are not known' };
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || !certificate) return { code: 401, text: 'client certificate required' };
  if (!socket.authorized) return { code: 401, text: 'client certificate not trusted' };
  const { subject } = certificate.toLegacyObject();
  const name = [subject.CN ?? ''].flat().join(',');
  return name === client ? undefined : { code: 403, text: `unauthorized common name: ${name}` };
}
