import { refKey, WaitingError } from '@flotilla/api';
import { NotificationState, UPGRADE_CONFIG_NAME } from '@flotilla/api/managed';
import { advanceUpgrade } from '@flotilla/machines';
import {
  type Channel,
  type Client,
  type Clock,
  isConflict,
  type Logger,
  type Metrics,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
} from '@flotilla/runtime';
import type { Caches } from '../../caches.ts';
import { createClusterWrites } from '../../cluster-writes.ts';
import type { NodeDrains } from '../../drain/node-drains.ts';
import { NotificationOutbox } from '../../notification-outbox.ts';
import { OwnWrites } from '../../own-writes.ts';
import type { Ports } from '../../ports.ts';
import { observeCluster, observeUpgradeConfig } from './observe.ts';
import { lookAt, notify, type Pass, type PassDeps } from './phases.ts';
import { momentsOf } from './plan.ts';
import { Retries } from './retries.ts';
import { UpgradeDraft } from './status.ts';
import { Timers } from './timers.ts';
import { clusterWatches, upgradeConfigWatch } from './wakes.ts';

/** What the reconciler works with. */
export interface UpgradeConfigDeps {
  readonly client: Client;
  readonly caches: Caches;
  readonly ports: Ports;
  readonly drains: NodeDrains;
  readonly steps: PassDeps['steps'];
  /** Wakes the UpgradeConfig from elsewhere. */
  readonly looks: Channel;
  /** Pods with a disruption budget were removed from a node since it was last asked. */
  readonly takeForcedDrain: () => boolean;
  readonly namespace: string;
  /** Longest time between two tries of what fails. */
  readonly retryMs: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Carries out the UpgradeConfig until the signal aborts. It is the only writer of its status; pools of workers are part of what it looks at. */
export function startUpgradeConfigs(deps: UpgradeConfigDeps, signal: AbortSignal): Reconciler {
  const { client, caches, ports, looks, namespace, retryMs, logger, metrics, clock } = deps;
  const key = refKey({ namespace, name: UPGRADE_CONFIG_NAME });
  const written = {
    upgradeConfigs: new OwnWrites<NonNullable<Pass['upgradeConfig']>>(),
    clusterVersions: new OwnWrites<Pass['cluster']['clusterVersion']>(),
  };
  const shared: PassDeps = {
    client,
    ports,
    clock,
    written,
    drains: deps.drains,
    steps: deps.steps,
    retries: new Retries(retryMs),
    outbox: new NotificationOutbox({ notifier: ports.notifier, clock, signal, wake: () => looks.enqueue(key) }),
    writes: createClusterWrites(client, (before, after) => written.clusterVersions.note(before, after)),
  };
  return startReconciler({
    name: 'upgrade-config',
    for: upgradeConfigWatch(caches),
    watches: [...clusterWatches(caches, key), ports.config.watch, looks],
    reconcile: (_, context) => reconcile(deps, shared, context),
    logger,
    signal,
    metrics,
    clock,
  });
}

/** One pass: as many phases as follow from one another. */
async function reconcile(deps: UpgradeConfigDeps, shared: PassDeps, { logger, signal }: ReconcileContext): Promise<ReconcileResult> {
  const { caches, client, ports, namespace, clock, takeForcedDrain } = deps;
  const { written } = shared;
  const upgradeConfig = observeUpgradeConfig(caches, written, namespace);
  if (!upgradeConfig || upgradeConfig.metadata.deletionTimestamp) {
    ports.metrics.resetAll();
    return {};
  }
  const cluster = observeCluster(caches, written);
  if (!cluster)
    throw new WaitingError('FLOTILLA_NO_CLUSTER_VERSION', 'there is no ClusterVersion to upgrade: create ClusterVersion version', 60_000);
  const draft = new UpgradeDraft(upgradeConfig, cluster.clusterVersion, () => clock.now());
  const save = () => draft.save(client, written.upgradeConfigs, signal);
  const { config, problem } = ports.config.current();
  draft.sayConfiguration(problem);
  // The entry is there before anything is done for it.
  if (draft.isNew || !config) await save();
  if (!config) return {};
  const timers = new Timers();
  const pass: Pass = { ...shared, upgradeConfig, cluster, config, draft, timers, save, logger, signal };
  if (draft.entry.phase === 'Upgrading' && takeForcedDrain()) await notify(pass, NotificationState.delayed, 'drain');
  await throughPhases(pass);
  for (const [moment, at] of momentsOf(draft.entry)) ports.metrics.moment(moment, draft.entry.version ?? '', at);
  await save();
  return timers.result;
}

async function throughPhases(pass: Pass): Promise<void> {
  const { draft, timers, save, logger } = pass;
  for (;;) {
    const { phase } = draft.entry;
    const look = await lookAt[phase](pass);
    pass.signal.throwIfAborted();
    const next = advanceUpgrade(phase, look);
    if (next === phase) return;
    draft.enter(next);
    logger.info({ from: phase, phase: next, version: draft.entry.version }, 'Upgrade is in another phase');
    // What was replaced is another object by now: the next pass looks at that.
    if (look.provider === 'replaced') {
      timers.lookAgain(0);
      return save().catch(unlessConflict);
    }
    // When it began has to be known before its first effect.
    if (next === 'Upgrading') await save();
  }
}

function unlessConflict(error: unknown): void {
  if (!isConflict(error)) throw error;
}
