import { openStore } from '@flotilla/queues';
import { type Client, createClient, type Program, type ProgramOptions, serveSamples } from '@flotilla/runtime';
import { type HubConfig, readConfig } from './config.ts';
import { installCrds } from './crd-installer.ts';
import { lead, runWorker } from './hub.ts';
import { PROCESS_METRICS } from './metrics/metric-table.ts';

/** Opens a program's way to its API server. */
type Connect = (program: Program<HubConfig>) => Client;

const connectByKubeconfig: Connect = ({ config, logger, metrics }) =>
  createClient({ kubeconfigPath: config.kubeconfig, userAgent: 'flotilla-hub', logger, metrics });

/**
 * Describes the hub as a program with these arguments and environment; default: the process's. Its run throws as `readConfig` does.
 * @param connect default: by the kubeconfig of its arguments
 */
export const hubProgram = (
  argv?: readonly string[],
  env?: NodeJS.ProcessEnv,
  connect: Connect = connectByKubeconfig,
): ProgramOptions<HubConfig> => ({
  name: 'hub',
  config: () => readConfig(argv, env),
  listen: ({ httpHost, httpPort }) => ({ host: httpHost, port: httpPort }),
  main: (program) => main(program, connect(program)),
});

/** Wires and runs the hub until it is stopped. A hub that waits for the lease is ready. */
async function main(program: Program<HubConfig>, client: Client): Promise<void> {
  const { config, logger, metrics, clock } = program;
  program.defer(() => client.close());
  const store = await openStore({ redisUrl: config.redisUrl, redisCa: config.redisCa, log: logger });
  program.defer(async () => store[Symbol.asyncDispose]());
  serveSamples(metrics, PROCESS_METRICS, () => [
    { metric: 'flotilla_queue_up', labels: { store: store.kind }, value: Number(store.isReachable()) },
  ]);
  if (config.installCrds && config.role === 'hub')
    await installCrds(client, { transport: config.standalone, clusterSets: config.standalone && config.tenancy }, logger);
  program.ready();
  logger.info({ server: client.server, port: program.port, store: store.description }, 'Hub is ready');
  const deps = { client, store, config, logger, metrics, clock };
  if (config.role === 'worker') return runWorker(deps, program.signal);
  await program.lead({ client, ref: { namespace: config.namespace, name: config.leaseName } }, (signal) => lead(deps, signal));
}
