import type { Metrics } from '@flotilla/runtime';
import fastify from 'fastify';

/** What the probes ask. */
export interface Health {
  /** The process can go on by itself. */
  readonly isAlive: () => boolean;
  /** Why the process is not ready; undefined when it is. A hub that waits for the lease is ready. */
  readonly notReady: () => string | undefined;
}

/** Serves `/healthz`, `/readyz` and `/metrics`; resolves with the port it listens on and the way to close it. */
export async function serveHttp(
  listen: { readonly host: string; readonly port: number },
  health: Health,
  metrics: Metrics,
): Promise<{ port: number; close: () => Promise<void> }> {
  const app = fastify({ logger: false, requestTimeout: 10_000, bodyLimit: 1024 });
  app.get('/healthz', (_request, reply) => reply.code(health.isAlive() ? 200 : 500).send(health.isAlive() ? 'ok' : 'not alive'));
  app.get('/readyz', (_request, reply) => {
    const why = health.notReady();
    return reply.code(why === undefined ? 200 : 503).send(why ?? 'ok');
  });
  app.get('/metrics', async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()));
  await app.listen(listen);
  const address = app.server.address();
  return { port: typeof address === 'object' && address ? address.port : listen.port, close: () => app.close() };
}
