import { Node } from '@flotilla/api/core';
import { UPGRADE_CONFIG_NAME } from '@flotilla/api/managed';
import {
  eventSubject,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  troubleEvents,
  watch,
  whenChanged,
} from '@flotilla/runtime';
import { cordonOf, isBeingConfigured, isControlPlaneNode, isUnderWay, upgradeInForce, workerPools } from '@flotilla/upgrade';
import type { DrainFailures } from '../../drain/node-drains.ts';
import type { ReconcilerDeps } from '../deps.ts';

interface NodeDeps extends ReconcilerDeps {
  /** Called when pods with a disruption budget were removed. */
  readonly onForcedDrain: () => void;
  readonly drainFailures: DrainFailures;
}

/**
 * Keeps drains of workers going while an upgrade changes them (spec/muo 2.3). Only nodes whose configuration is being changed: what an
 * administrator has cordoned stays as it is.
 */
export function startNodeKeeper(deps: NodeDeps, signal: AbortSignal): Reconciler {
  const { caches, drainFailures, logger, metrics, clock } = deps;
  const tell = troubleEvents(deps.ports.events, (name) => eventSubject(Node, caches.nodes.get({ name })));
  const cordoned = () => caches.nodes.list().filter((node) => cordonOf(node) !== undefined);
  return startReconciler({
    name: 'node-keeper',
    for: watch(caches.nodes, { select: whenChanged(facts) }),
    watches: [watch(caches.upgradeConfigs, { enqueue: cordoned }), watch(caches.pools, { enqueue: cordoned })],
    reconcile: async (name, context) => {
      const result = await reconcile(deps, name, context);
      drainFailures.end(name);
      return result;
    },
    onTrouble: async (name, trouble, context) => {
      drainFailures.note(name, trouble.message);
      await tell(name, trouble, context);
    },
    logger,
    signal,
    metrics,
    clock,
  });
}

async function reconcile(deps: NodeDeps, name: string, { logger, signal }: ReconcileContext): Promise<ReconcileResult> {
  const { caches, ports, drains, onForcedDrain, clock, namespace } = deps;
  const upgradeConfig = caches.upgradeConfigs.get({ namespace, name: UPGRADE_CONFIG_NAME });
  if (!upgradeConfig || !isUnderWay(upgradeConfig) || !workerPools(caches.pools.list()).isUpgrading) return {};
  const node = caches.nodes.get({ name });
  const { config } = ports.config.current();
  if (!config || (node && isControlPlaneNode(node))) return {};
  if (!node || !cordonOf(node)) {
    ports.metrics.drainTimeout(name, false);
    return {};
  }
  if (!isBeingConfigured(node)) return {};
  const nowMs = clock.now();
  // A node that was cordoned days before has as much time as others; nothing is due while the start of the workers is unknown.
  const notBeforeMs = Date.parse(upgradeInForce(upgradeConfig).entry?.workerStartTime ?? '') || nowMs;
  const { isLate, afterMs } = await drains.force(node, {
    upgradeConfig,
    config,
    watchOnly: config.nodeDrain.disableDrainStrategies,
    notBeforeMs,
    nowMs,
    notify: async () => onForcedDrain(),
    logger,
    signal,
  });
  ports.metrics.drainTimeout(name, isLate && !node.metadata.deletionTimestamp);
  return afterMs === undefined ? {} : { requeueAfterMs: afterMs };
}

const facts = (node: Node) => [cordonOf(node), isBeingConfigured(node), isControlPlaneNode(node), node.metadata.deletionTimestamp];
