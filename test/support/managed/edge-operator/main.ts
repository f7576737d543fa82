/** An operator of an edge release, as the release's image runs it: it rolls its workload out and reports its ClusterOperator. */
import { refKey } from '@flotilla/api';
import {
  createChannel,
  createClient,
  logOnly,
  type OptionRows,
  option,
  readOptions,
  runProgram,
  schemaOf,
  startReconciler,
  WatchCache,
  watch,
} from '@flotilla/runtime';
import { startClusterOperatorReporter } from '@flotilla/runtime/cluster-operator';
import { z } from 'zod';
import { reportOf, Workload, workloadOf } from './workload.ts';

const text = z.string({ error: 'is required' }).min(1);
const rows = {
  name: ['<name>', text, 'of the ClusterOperator and the Deployment'],
  namespace: ['<namespace>', text, 'of the Deployment'],
  release: ['<version>', text, 'version of the release'],
  image: ['<image>', text, 'of the Deployment, by digest'],
  logLevel: ['<level>', option.logLevel.default('info'), 'error, warn, info, debug or silent'],
} satisfies OptionRows;

await runProgram({
  name: 'edge-operator',
  config: () =>
    readOptions({
      program: 'edge-operator',
      description: 'Runs one workload of a release and reports it as a ClusterOperator.',
      rows,
      schema: schemaOf(rows),
      argv: process.argv.slice(2),
      env: {},
    }),
  async main({ config, logger, metrics, clock, signal, defer, ready }) {
    const { name, namespace } = config;
    const client = createClient({ userAgent: 'edge-operator', logger, metrics });
    defer(() => client.close());
    const workloads = new WatchCache(client, Workload, { namespace, fieldSelector: `metadata.name=${name}`, logger, metrics, clock });
    const start = createChannel();
    const reporter = startClusterOperatorReporter({ client, name, logger, metrics, clock, signal });
    const { stopped } = startReconciler({
      onTrouble: logOnly,
      name: 'workload',
      for: watch(workloads),
      watches: [start],
      reconcile: async (_, context) => {
        const options = { fieldManager: 'edge-operator', force: true, signal: context.signal };
        reporter.report(reportOf(config, await client.apply(Workload, workloadOf(config), options)));
        return {};
      },
      logger,
      metrics,
      clock,
      signal,
    });
    // It may not be there yet, and then no watch tells of it.
    start.enqueue(refKey({ namespace, name }));
    ready();
    await Promise.all([stopped, reporter.stopped]);
  },
});
