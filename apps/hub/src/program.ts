import { FIELD_MANAGER, FlotillaError, findCondition, foreign, KubeObject } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { clusterSetCrds, transportCrds } from '@flotilla/api/ocm';
import { ranCrds } from '@flotilla/api/ran';
import { openStore } from '@flotilla/queues';
import { type Client, createClient, type Logger, type Program, type ProgramOptions, serveSamples } from '@flotilla/runtime';
import { z } from 'zod';
import { type HubConfig, readConfig } from './config.ts';
import { lead, runWorker } from './hub.ts';
import { PROCESS_METRICS } from './metrics/samples.ts';

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

const CrdStatus = foreign(
  z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish() }).nullish(),
);

/** Applies our CRDs, and those of transport and cluster sets on request; waits until each is served (at most 30 s). */
async function installCrds(
  client: Client,
  options: { readonly transport: boolean; readonly clusterSets: boolean },
  logger: Logger,
): Promise<void> {
  for (const crd of [...ranCrds(), ...(options.transport ? transportCrds() : []), ...(options.clusterSets ? clusterSetCrds() : [])]) {
    const object = KubeObject.parse(crd);
    await client.apply(CustomResourceDefinition, object, { fieldManager: FIELD_MANAGER, force: true });
    await untilEstablished(client, object.metadata.name);
    logger.info({ crd: object.metadata.name }, 'Installed CRD');
  }
}

async function untilEstablished(client: Client, name: string): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  const established = (object: KubeObject | undefined) => {
    const conditions = CrdStatus.safeParse(object?.status).data?.conditions ?? [];
    return findCondition(conditions, 'Established')?.status === 'True';
  };
  const { items, resourceVersion } = await client.list(CustomResourceDefinition, { fieldSelector: `metadata.name=${name}`, signal });
  if (established(items[0])) return;
  for await (const event of client.watch(CustomResourceDefinition, { fieldSelector: `metadata.name=${name}`, resourceVersion, signal }))
    if (event.type !== 'BOOKMARK' && established(event.object)) return;
  throw new FlotillaError(
    'FLOTILLA_CRD_NOT_SERVED',
    `CustomResourceDefinition ${name} was applied but is not served after 30 s; see its conditions`,
  );
}
