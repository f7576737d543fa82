import { createServer } from 'node:http';

/** The two answers a kubelet asks for. */
export interface HealthServer extends AsyncDisposable {
  readonly port: number;
}

/** Serves /healthz (the process answers) and /readyz (it watches the hub) on `port`; 0 takes a free one. */
export async function startHealthServer(port: number, isReady: () => boolean): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const code = path === '/healthz' ? 200 : path === '/readyz' ? (isReady() ? 200 : 503) : 404;
    response
      .writeHead(code, { 'content-type': 'text/plain' })
      .end(code === 200 ? 'ok\n' : code === 503 ? 'the hub is not watched yet\n' : 'not found\n');
  });
  server.requestTimeout = 5_000;
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(port, () => listening.resolve());
  await listening.promise;
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
