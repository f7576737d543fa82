import { errorMessage } from '@flotilla/api';
import { createClient, createLogger, systemClock } from '@flotilla/runtime';
import { startAgent } from './agent.ts';
import { readConfig } from './config.ts';
import { startHealthServer } from './health-server.ts';
import { keepToken } from './registration/token.ts';

/** Milliseconds what is under way may take after SIGTERM. */
const STOP_WITHIN_MS = 10_000;

async function main(): Promise<void> {
  const config = readConfig();
  const logger = createLogger({ name: 'spoke-agent', level: config.logLevel });
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());

  const hub = createClient({ kubeconfigPath: config.hubKubeconfig, userAgent: 'flotilla-spoke-agent', logger });
  const spoke = createClient({ kubeconfigPath: config.spokeKubeconfig, userAgent: 'flotilla-spoke-agent', logger });
  const { clusterName, registration, works, worksAs } = config;
  const workSpoke = worksAs
    ? createClient({ kubeconfigPath: config.spokeKubeconfig, userAgent: 'flotilla-spoke-agent', actAs: worksAs, logger })
    : spoke;
  const agent = startAgent({ hub, spoke, workSpoke, clusterName, registration, works, logger }, stopping.signal);
  await using health = await startHealthServer(config.healthPort, () => agent.isReady());
  logger.info({ cluster: config.clusterName, hub: hub.server, spoke: spoke.server, healthPort: health.port }, 'Watching the hub');

  stopping.signal.addEventListener('abort', () => setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref());
  const { hubKubeconfigSecret: secret, hubKubeconfig: kubeconfigPath } = config;
  const token = secret && keepToken({ hub, spoke, clusterName, kubeconfigPath, secret, clock: systemClock, logger }, stopping.signal);
  await Promise.all([agent.stopped, token]);
  await Promise.all([hub.close(), spoke.close(), workSpoke.close()]);
  logger.info('Stopped');
}

main().catch((error: unknown) => {
  process.stderr.write(`spoke-agent: ${errorMessage(error)}\n`);
  process.exitCode = 1;
});
