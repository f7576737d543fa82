import { refKey } from '@flotilla/api';
import { NotificationState, UPGRADE_CONFIG_NAME, UpgradeCondition } from '@flotilla/api/managed';
import { advanceUpgrade } from '@flotilla/machines';
import {
  type Channel,
  type Client,
  isConflict,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
} from '@flotilla/runtime';
import { heldMessage, type UpgradeBeginning, upgradeInForce } from '@flotilla/upgrade';
import { createClusterWrites } from '../../cluster-writes.ts';
import { restoreGauges } from '../../metrics/restored-gauges.ts';
import { NotificationOutbox } from '../../notification-outbox.ts';
import { OwnWrites } from '../../own-writes.ts';
import type { UpgradeMetrics } from '../../ports.ts';
import type { ReconcilerDeps } from '../deps.ts';
import { observeCluster, observeUpgradeConfig } from './observe.ts';
import { lookAt, notify, type Pass, type PassDeps } from './phases.ts';
import { momentsOf } from './plan.ts';
import { Retries } from './retries.ts';
import { UpgradeDraft } from './status.ts';
import { Timers } from './timers.ts';
import { clusterWatches, upgradeConfigWatch } from './wakes.ts';

/** What the reconciler works with. */
export interface UpgradeConfigDeps extends ReconcilerDeps {
  readonly client: Client;
  readonly steps: PassDeps['steps'];
  /** Wakes the UpgradeConfig from elsewhere. */
  readonly looks: Channel;
  /** Pods with a disruption budget were removed from a node since it was last asked. */
  readonly takeForcedDrain: () => boolean;
  /** Longest time between two tries of what fails. */
  readonly retryMs: number;
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
  const measure = measureOne(ports.metrics);
  return startReconciler({
    name: 'upgrade-config',
    for: upgradeConfigWatch(caches),
    watches: [...clusterWatches(caches, key), ports.config.watch, ports.provider.watch, looks],
    reconcile: (_, context) => reconcile(deps, shared, measure, context),
    logger,
    signal,
    metrics,
    clock,
  });
}

type Measure = (asked: Pass['upgradeConfig'] | undefined) => void;

/** What was measured of an UpgradeConfig goes when that does, and not again: what is measured while there is none stays. */
function measureOne(metrics: Pick<UpgradeMetrics, 'resetAll'>): Measure {
  let measured: string | undefined;
  return (asked) => {
    const uid = asked?.metadata.deletionTimestamp ? undefined : asked?.metadata.uid;
    if (measured !== undefined && measured !== uid) metrics.resetAll();
    measured = uid;
  };
}

/** One pass: as many phases as follow from one another. */
async function reconcile(
  deps: UpgradeConfigDeps,
  shared: PassDeps,
  measure: Measure,
  { logger, signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const { caches, client, ports, namespace, clock, takeForcedDrain } = deps;
  const { written } = shared;
  const asked = observeUpgradeConfig(caches, written, namespace);
  measure(asked);
  if (!asked || asked.metadata.deletionTimestamp) return {};
  const { upgradeConfig, held } = upgradeInForce(asked);
  const cluster = observeCluster(caches, written);
  const draft = new UpgradeDraft(upgradeConfig, cluster?.clusterVersion, () => clock.now());
  const save = async () => {
    for (const event of await draft.save(client, written.upgradeConfigs, signal)) ports.events.record(event);
  };
  const { config, problem, remark } = ports.config.current();
  const invalid = problem === undefined ? undefined : { reason: 'ConfigurationInvalid', message: problem };
  draft.say(
    UpgradeCondition.configured,
    invalid,
    remark === undefined ? undefined : { reason: 'ConfigurationHasUnknownKeys', message: remark },
  );
  draft.say(UpgradeCondition.clusterVersionFound, cluster ? undefined : NO_CLUSTER_VERSION);
  // The entry is there before anything is done for it.
  if (draft.isNew || !config || !cluster) await save();
  if (!config || !cluster) return {};
  const timers = new Timers();
  restoreGauges({ spec: upgradeConfig.spec, entry: draft.entry }, ports.metrics);
  const pass: Pass = { ...shared, upgradeConfig, cluster, config, draft, timers, save, logger, signal };
  if (draft.entry.phase === 'Upgrading' && takeForcedDrain()) await notify(pass, NotificationState.delayed, 'drain');
  await throughPhases(pass);
  saySynced(pass, held);
  for (const [moment, at] of momentsOf(draft.entry)) ports.metrics.moment(moment, draft.entry.version ?? '', at);
  await save();
  return timers.result;
}

const NO_CLUSTER_VERSION = {
  reason: 'ClusterVersionMissing',
  message: 'there is no ClusterVersion named version to upgrade by: install a cluster version operator, or create it',
};

/** Says what waits for the end of this upgrade, and has it looked at then. @param held what the spec asks for by now */
function saySynced({ upgradeConfig, draft, ports, timers }: Pass, held: UpgradeBeginning | undefined): void {
  const isUnderWay = draft.entry.phase === 'Upgrading';
  if (held && !isUnderWay) timers.lookAgain(0);
  const ofProvider = ports.provider.problem();
  const ofSpec = held && { reason: 'ChangeHeld', message: heldMessage('the UpgradeConfig', held, upgradeConfig) };
  const waiting = ofProvider?.reason === 'ChangeHeld' ? ofProvider : ofSpec;
  const failing = ofProvider?.reason === 'ChangeHeld' ? undefined : ofProvider;
  draft.say(UpgradeCondition.synced, (isUnderWay && waiting) || failing);
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
