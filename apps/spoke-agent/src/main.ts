import { errorMessage } from '@flotilla/api';
import { createClient, createLogger } from '@flotilla/runtime';
import { startAgent } from './agent.ts';
import { readConfig } from './config.ts';
import { startHealthServer } from './health-server.ts';

/** Milliseconds what is under way may take after SIGTERM. */
const STOP_WITHIN_MS = 10_000;

async function main(): Promise<void> {
  const config = readConfig();
  const logger = createLogger({ name: 'spoke-agent', level: config.logLevel });
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

  const hub = createClient({ kubeconfigPath: config.hubKubeconfig, userAgent: 'flotilla-spoke-agent', logger });
  const spoke = createClient({ kubeconfigPath: config.spokeKubeconfig, userAgent: 'flotilla-spoke-agent', logger });
  const agent = startAgent({ hub, spoke, clusterName: config.clusterName, registration: config.registration, logger }, stopping.signal);
  await using health = await startHealthServer(config.healthPort, () => agent.isReady());
  logger.info({ cluster: config.clusterName, hub: hub.server, spoke: spoke.server, healthPort: health.port }, 'Watching the hub');

  stopping.signal.addEventListener('abort', () => setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref());
  await agent.stopped;
  await Promise.all([hub.close(), spoke.close()]);
  logger.info('Stopped');
}

main().catch((error: unknown) => {
  process.stderr.write(`spoke-agent: ${errorMessage(error)}\n`);
  process.exitCode = 1;
});
