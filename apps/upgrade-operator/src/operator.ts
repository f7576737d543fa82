import { refKey } from '@flotilla/api';
import { UPGRADE_CONFIG_NAME } from '@flotilla/api/managed';
import { type Client, type Clock, createChannel, type Logger, type Metrics } from '@flotilla/runtime';
import { type Caches, createCaches } from './caches.ts';
import type { ProgramSettings } from './config.ts';
import { createNodeDrains, DrainFailures } from './drain/node-drains.ts';
import type { Ports } from './ports.ts';
import { startNodeKeeper } from './reconcilers/node/reconciler.ts';
import { startOtherUpgradeConfigs } from './reconcilers/other-upgrade-config/reconciler.ts';
import { startUpgradeConfigs } from './reconcilers/upgrade-config/reconciler.ts';
import { reportSelf } from './self-report.ts';
import { stepsOf } from './upgraders.ts';

/** Dependencies of the operator. */
export interface OperatorDeps {
  readonly client: Client;
  readonly settings: ProgramSettings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** The operator, as far as tests take it apart. */
interface OperatorParts {
  readonly createPorts: PortsFactory;
  /** The steps of an upgrade; default those of its type. */
  readonly steps?: typeof stepsOf;
}

/** Builds the services behind the ports; the reconcilers that watch the caches start them. */
export type PortsFactory = (deps: OperatorDeps, caches: Caches, signal: AbortSignal) => Ports;

/** Does the operator's work until the signal aborts. */
export async function runOperator(deps: OperatorDeps, { createPorts, steps = stepsOf }: OperatorParts, signal: AbortSignal): Promise<void> {
  const { client, settings, logger, metrics, clock } = deps;
  const { namespace, retrySeconds, clusterOperator: name, releaseVersion: version } = settings;
  const caches = createCaches(client, namespace, { logger, metrics, clock });
  const looks = createChannel();
  let hasForcedDrain = false;
  const common = { caches, ports: createPorts(deps, caches, signal), drains: createNodeDrains(client), namespace, logger, metrics, clock };
  const takeForcedDrain = (): boolean => {
    const had = hasForcedDrain;
    hasForcedDrain = false;
    return had;
  };
  const wake = (): void => looks.enqueue(refKey({ namespace, name: UPGRADE_CONFIG_NAME }));
  const onForcedDrain = (): void => {
    hasForcedDrain = true;
    wake();
  };
  const drainFailures = new DrainFailures(wake);
  const retryMs = retrySeconds * 1000;
  const upgradeConfigs = startUpgradeConfigs({ ...common, client, steps, looks, takeForcedDrain, drainFailures, retryMs }, signal);
  const nodes = startNodeKeeper({ ...common, onForcedDrain, drainFailures }, signal);
  const others = startOtherUpgradeConfigs({ client, ports: common.ports, namespace, logger, metrics, clock }, signal);
  const { upgradeConfigs: watched } = caches;
  const reported =
    name === '' ? undefined : reportSelf({ client, name, version, namespace, upgradeConfigs: watched, logger, metrics, clock }, signal);
  await Promise.all([upgradeConfigs.stopped, nodes.stopped, others.stopped, reported]);
}
