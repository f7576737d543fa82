import { OPERATOR_LEASE } from '@flotilla/api/managed';
import { createClient, type Program, runProgram, type Sample, serveProbes, serveSamples } from '@flotilla/runtime';
import { Registry } from 'prom-client';
import { type ProgramSettings, readConfig } from './config.ts';
import { SERIES_METRICS, seriesOf } from './metrics/upgrade-series.ts';
import { type PortsFactory, runOperator } from './operator.ts';
import { createPorts } from './wiring.ts';

/** Wires the operator and runs it until it is stopped. One that waits for the lease is ready. */
async function main(program: Program<ProgramSettings>): Promise<void> {
  const { config, logger, metrics, clock } = program;
  const client = createClient({ kubeconfigPath: config.kubeconfig, userAgent: 'managed-upgrade-operator', logger, metrics });
  program.defer(() => client.close());
  const registry = new Registry();
  let series = (): readonly Sample[] => [];
  serveSamples({ registry }, SERIES_METRICS, () => series());
  const { host, port } = config.customMetricsBindAddress;
  const custom = await serveProbes({ ...(host && { host }), port }, { notReady: () => undefined, registry });
  program.defer(async () => custom[Symbol.asyncDispose]());
  const connect: PortsFactory = (deps, caches, signal) => {
    series = () => seriesOf(caches, config.namespace);
    return createPorts()(deps, caches, signal);
  };
  program.ready();
  logger.info({ server: client.server, port: program.port }, 'Upgrade operator is ready');
  const work = (signal: AbortSignal) => runOperator({ client, settings: config, logger, metrics, clock }, { createPorts: connect }, signal);
  if (!config.leaderElect) return work(program.signal);
  await program.lead({ client, ref: { namespace: config.namespace, name: OPERATOR_LEASE } }, work);
}

await runProgram({
  name: 'upgrade-operator',
  config: () => readConfig(),
  listen: ({ healthProbeBindAddress: { host, port }, metricsBindAddress }) => ({
    ...(host && { host }),
    port,
    metricsPort: metricsBindAddress.port,
  }),
  main,
});
