import { hostname } from 'node:os';
import { errorMessage } from '@flotilla/api';
import { openStore } from '@flotilla/queues';
import { createClient, createLogger, createMetrics, runWithLease } from '@flotilla/runtime';
import { type HubConfig, readConfig } from './config.ts';
import { installCrds } from './crd-installer.ts';
import { serveHttp } from './http.ts';
import { lead, runWorker } from './hub.ts';

/** Wires the hub and runs it until a signal asks it to stop. */
async function main(config: HubConfig): Promise<void> {
  const logger = createLogger({ name: 'hub', level: config.logLevel });
  const metrics = createMetrics();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)));
  let starting: string | undefined = 'starting';
  const http = await serveHttp(
    { host: config.httpHost, port: config.httpPort },
    { isAlive: () => true, notReady: () => starting },
    metrics,
  );
  const client = createClient({ kubeconfigPath: config.kubeconfig, userAgent: 'flotilla-hub', logger, metrics });
  const store = await openStore({ redisUrl: config.redisUrl, preference: config.queueStore, log: logger });
  try {
    if (config.installCrds && config.role === 'hub')
      await installCrds(client, { transport: config.standalone, clusterSets: config.standalone && config.tenancy }, logger);
    starting = undefined;
    logger.info({ server: client.server, port: http.port, store: store.description }, 'Hub is ready');
    const deps = { client, store, config, logger, metrics };
    if (config.role === 'worker') return await runWorker(deps, stop.signal);
    await runWithLease({
      client,
      ref: { namespace: config.namespace, name: config.leaseName },
      identity: `${hostname()}-${process.pid}`,
      onStartedLeading: (signal) => lead(deps, signal),
      signal: stop.signal,
      logger,
      metrics,
    });
  } finally {
    await Promise.allSettled([store.close(), client.close(), http.close()]);
  }
}

let config: HubConfig;
try {
  config = readConfig();
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exit(2);
}
try {
  await main(config);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exit(1);
}
