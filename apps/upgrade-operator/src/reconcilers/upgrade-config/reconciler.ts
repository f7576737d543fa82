import { errorMessage, refKey } from '@flotilla/api';
import { NotificationState, UPGRADE_CONFIG_NAME, UpgradeCondition, UpgradeConfig } from '@flotilla/api/managed';
import {
  type Channel,
  type Client,
  eventSubject,
  pause,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  RefusedValues,
  refusedText,
  startReconciler,
  troubleEvents,
} from '@flotilla/runtime';
import { advanceUpgrade, heldMessage, isSent, isUnderChange, type UpgradeBeginning, upgradeInForce, workerPools } from '@flotilla/upgrade';
import { createClusterWrites } from '../../cluster-writes.ts';
import type { DrainFailures } from '../../drain/node-drains.ts';
import { restoreGauges } from '../../metrics/upgrade-metrics.ts';
import { NotificationOutbox } from '../../notification-outbox.ts';
import type { UpgradeMetrics } from '../../ports.ts';
import { WithdrawnError } from '../../steps/step.ts';
import type { ReconcilerDeps } from '../deps.ts';
import { Leftovers } from './leftovers.ts';
import { observeCluster, observeMachines, observeUpgradeConfig } from './observe.ts';
import { lookAt, notify, type Pass, type PassDeps } from './phases.ts';
import { momentsOf } from './plan.ts';
import { Retries, Timers } from './retries.ts';
import { FailureReason, UpgradeDraft } from './status.ts';
import { StatusWriter, UpgradeConfigGoneError } from './status-writer.ts';
import { clusterWatches, upgradeConfigWatch } from './wakes.ts';
import { absentSubject, Farewell, tellOfWithdrawn, withdraw } from './withdrawal.ts';

interface UpgradeConfigDeps extends ReconcilerDeps {
  readonly client: Client;
  readonly steps: PassDeps['steps'];
  /** Wakes the UpgradeConfig from elsewhere. */
  readonly looks: Channel;
  /** Pods with a disruption budget were removed from a node since it was last asked. */
  readonly takeForcedDrain: () => boolean;
  readonly drainFailures: Pick<DrainFailures, 'message'>;
  /** Longest time between two tries of what fails. */
  readonly retryMs: number;
}

/** Carries out the UpgradeConfig until the signal aborts. It is the only writer of its status; pools of workers are part of what it looks at. */
export function startUpgradeConfigs(deps: UpgradeConfigDeps, signal: AbortSignal): Reconciler {
  const { client, caches, ports, looks, namespace, retryMs, logger, metrics, clock } = deps;
  const key = refKey({ namespace, name: UPGRADE_CONFIG_NAME });
  const writes = createClusterWrites(client, caches);
  const subject = () => eventSubject(UpgradeConfig, caches.upgradeConfigs.get({ namespace, name: UPGRADE_CONFIG_NAME }));
  const warn = (reason: string, note: string, regarding = subject() ?? absentSubject(namespace)): void =>
    ports.events.record({ type: 'Warning', reason, action: 'Reconciling', note, regarding });
  const refused = new RefusedValues({
    clock,
    tell: (value) => {
      logger.warn(value, 'The server does not take a value of the status, which is left out');
      warn('StatusValueRefused', refusedText(value));
    },
  });
  const shared: Shared = {
    ...deps,
    statuses: new StatusWriter({ client, cache: caches.upgradeConfigs, refused }),
    retries: new Retries(retryMs),
    outbox: new NotificationOutbox({ notifier: ports.notifier, clock, signal, wake: () => looks.enqueue(key) }),
    writes,
    leftovers: new Leftovers({
      writes,
      silences: ports.silences,
      clock,
      logger,
      retryMs,
      tell: (note) => warn(FailureReason.leftovers, note),
    }),
    farewell: new Farewell(),
    measure: measureOne(ports.metrics),
  };
  return startReconciler({
    name: 'upgrade-config',
    for: upgradeConfigWatch(caches),
    watches: [...clusterWatches(caches, key), ports.config.watch, ports.provider.watch, looks],
    reconcile: (_, context) => reconcile(shared, context),
    onTrouble: troubleEvents(ports.events, subject),
    logger,
    signal,
    metrics,
    clock,
  });
}

type Measure = (asked: Pass['upgradeConfig'] | undefined) => void;
type Shared = UpgradeConfigDeps & PassDeps & { readonly farewell: Farewell; readonly measure: Measure; readonly statuses: StatusWriter };

/** Resets the metrics once, when the measured UpgradeConfig is deleted or replaced. Metrics that are set while there is none stay. */
function measureOne(metrics: Pick<UpgradeMetrics, 'resetAll'>): Measure {
  let measured: string | undefined;
  return (asked) => {
    const uid = asked?.metadata.deletionTimestamp ? undefined : asked?.metadata.uid;
    if (measured !== undefined && measured !== uid) metrics.resetAll();
    measured = uid;
  };
}

/** One pass: as many phases as follow from one another. */
async function reconcile(shared: Shared, context: ReconcileContext): Promise<ReconcileResult> {
  const { caches, namespace, farewell, measure } = shared;
  const cluster = observeCluster(caches);
  const stored = observeUpgradeConfig(caches, namespace);
  const asked = stored?.metadata.deletionTimestamp ? undefined : stored;
  measure(asked);
  await farewell.inherit(asked !== undefined, cluster, shared, context.signal);
  await farewell.say(asked?.metadata.uid, cluster, shared);
  return asked ? carryOut(shared, asked, context) : takeBackOrphans(shared, context);
}

/** There is no UpgradeConfig: what was made for one goes, once the cluster is where it was sent. */
async function takeBackOrphans(shared: Shared, { signal }: ReconcileContext): Promise<ReconcileResult> {
  const { caches, namespace, ports, leftovers, farewell } = shared;
  const cluster = observeCluster(caches);
  const machines = observeMachines(caches);
  if (cluster && isChanging(cluster) && !leftovers.isOwed) {
    if (leftovers.isSeen(machines, cluster.clusterVersion)) farewell.sayUnattended(cluster, absentSubject(namespace), ports);
    return {};
  }
  const { afterMs: requeueAfterMs } = await leftovers.takeBack(machines, cluster?.clusterVersion, signal);
  return requeueAfterMs === undefined ? {} : { requeueAfterMs };
}

/** The cluster, or its workers, are on their way to somewhere. */
const isChanging = ({ clusterVersion, pools }: Pass['cluster']): boolean => isUnderChange(clusterVersion) || workerPools(pools).isUpgrading;

async function carryOut(shared: Shared, asked: Pass['upgradeConfig'], { logger, signal }: ReconcileContext): Promise<ReconcileResult> {
  const { caches, statuses, ports, clock, farewell } = shared;
  const { upgradeConfig, held } = upgradeInForce(asked);
  const cluster = observeCluster(caches);
  const draft = new UpgradeDraft(upgradeConfig, cluster?.clusterVersion, () => clock.now());
  const save = async () => {
    for (const event of await draft.save(statuses, signal)) ports.events.record(event);
  };
  const { config, problem, remark } = ports.config.current();
  const invalid = problem === undefined ? undefined : { reason: 'ConfigurationInvalid', message: problem };
  draft.say(
    UpgradeCondition.configured,
    invalid,
    remark === undefined ? undefined : { reason: 'ConfigurationHasUnknownKeys', message: remark },
  );
  draft.say(UpgradeCondition.clusterVersionFound, cluster ? undefined : NO_CLUSTER_VERSION);
  try {
    // The entry is there before anything is done for it.
    if (!config || !cluster) draft.sayPassed(held !== undefined);
    if (draft.isNew || !config || !cluster) await save();
    if (!config || !cluster) return {};
    const timers = new Timers();
    restoreGauges({ spec: upgradeConfig.spec, entry: draft.entry }, ports.metrics);
    const pass: Pass = { ...shared, upgradeConfig, cluster, config, draft, timers, save, logger, signal };
    await passOver(pass, held, shared);
    return timers.result;
  } catch (error) {
    const isWithdrawn = error instanceof WithdrawnError;
    if (!isWithdrawn && !(error instanceof UpgradeConfigGoneError)) {
      signal.throwIfAborted();
      draft.noteFailure({ reason: FailureReason.failed, message: errorMessage(error) });
      draft.sayPassed(held !== undefined);
      // The cause of the pass's end is thrown, also where the status cannot be written either.
      await save().catch(() => undefined);
      throw error;
    }
    logger.info({ reason: error.message }, 'What was asked for has changed in mid-pass');
    if (isWithdrawn) await save().catch(unlessGone);
    return { requeueAfterMs: AGAIN_MS };
  } finally {
    farewell.remember(upgradeConfig, draft);
  }
}

/** Should no watch tell of what the API server has told. */
const AGAIN_MS = 1_000;

function unlessGone(error: unknown): void {
  if (!(error instanceof UpgradeConfigGoneError)) throw error;
}

async function passOver(
  pass: Pass,
  held: UpgradeBeginning | undefined,
  { takeForcedDrain, drainFailures }: Pick<UpgradeConfigDeps, 'takeForcedDrain' | 'drainFailures'>,
): Promise<void> {
  const { draft, cluster, leftovers, ports, timers, save, signal } = pass;
  const isUnderWay = draft.entry.phase === 'Upgrading';
  if (!isUnderWay && (leftovers.isOwed || !isChanging(cluster))) {
    const { hasWritten, afterMs, problem } = await leftovers.takeBack(cluster, cluster.clusterVersion, signal);
    if (problem !== undefined) draft.noteFailure({ reason: FailureReason.leftovers, message: problem });
    // Watches tell at once; a write that changes nothing, as where an admission reverts it, is not repeated in a tight loop.
    timers.requeueAfter(hasWritten ? AGAIN_MS : afterMs);
    // An upgrade that is due begins on the cluster as it is now, not on what this pass has observed.
    if (hasWritten) return save();
  }
  if (held && isUnderWay && !isSent({ ...pass, entry: draft.entry }, cluster.clusterVersion)) return withdraw(pass, held);
  if (isUnderWay && takeForcedDrain()) await notify(pass, NotificationState.delayed, { detail: 'drain' });
  const { message } = drainFailures;
  if (isUnderWay && message !== undefined) draft.noteFailure({ reason: FailureReason.drain, message });
  await throughPhases(pass);
  await tellOfWithdrawn(pass);
  saySynced(pass, held);
  draft.sayPassed(held !== undefined);
  for (const [moment, at] of momentsOf(draft.entry)) ports.metrics.moment(moment, draft.entry.version ?? '', at);
  await save();
}

const NO_CLUSTER_VERSION = {
  reason: 'ClusterVersionMissing',
  message: 'there is no ClusterVersion named version to upgrade by: install a cluster version operator, or create it',
};

/** Says what waits for the end of this upgrade, and has it looked at then. @param held what the spec asks for by now */
function saySynced({ upgradeConfig, draft, ports, timers }: Pass, held: UpgradeBeginning | undefined): void {
  const isUnderWay = draft.entry.phase === 'Upgrading';
  if (held && !isUnderWay) timers.requeueAfter(0);
  const ofProvider = ports.provider.problem();
  const ofSpec = held && { reason: 'ChangeHeld', message: heldMessage('the UpgradeConfig', held, upgradeConfig) };
  const waiting = ofProvider?.reason === 'ChangeHeld' ? ofProvider : ofSpec;
  const failing = ofProvider?.reason === 'ChangeHeld' ? undefined : ofProvider;
  draft.say(UpgradeCondition.synced, (isUnderWay && waiting) || failing);
}

/** Walks as many phases as follow from one another, and saves what a pass has found while one takes long. */
export async function throughPhases(pass: Pass): Promise<void> {
  const { draft, timers, save, logger } = pass;
  for (;;) {
    const { phase } = draft.entry;
    const look = await savingMeanwhile(pass, lookAt[phase](pass));
    pass.signal.throwIfAborted();
    const next = advanceUpgrade(phase, look);
    if (next === phase) return;
    draft.enter(next);
    logger.info({ from: phase, phase: next, version: draft.entry.version }, 'Upgrade is in another phase');
    // The provider has replaced the object, so the next pass looks at the new one.
    if (look.provider === 'replaced') {
      timers.requeueAfter(0);
      return save();
    }
    // The start must be saved before the first effect of the upgrade.
    if (next === 'Upgrading') await save();
  }
}

/** A look that takes longer is waiting for somebody: what it has found so far is saved meanwhile. */
const SLOW_MS = 1_000;

async function savingMeanwhile<T>({ clock, save, signal }: Pass, look: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const stop = AbortSignal.any([ended.signal, signal]);
  const saveOften = async (): Promise<void> => {
    while (!stop.aborted) {
      await pause(clock, SLOW_MS, stop);
      if (!stop.aborted) await save();
    }
  };
  // A save after one that is under way could arrive before it.
  const [found, saved] = await Promise.allSettled([look.finally(() => ended.abort()), saveOften()]);
  if (found.status === 'rejected') throw found.reason;
  if (saved.status === 'rejected') throw saved.reason;
  return found.value;
}
