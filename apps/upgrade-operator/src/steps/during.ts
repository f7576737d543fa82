import { errorMessage } from '@flotilla/api';
import { NotificationState, UpgradeCondition, type UpgradeHistory } from '@flotilla/api/managed';
import {
  askedInstead,
  channelChange,
  channelKept,
  commencement,
  conditionOf,
  describePaused,
  describeWorkers,
  hasCompleted,
  isTrue,
  startedAt,
  surgeRemains,
  workerMinutes,
  workerPools,
} from '@flotilla/upgrade';
import type { Silences } from '../ports.ts';
import { done, failed, MINUTE, type StepCode, type StepOutcome, skipped, waiting } from './step.ts';

/** Call that closes each window, by the condition that reports it. */
const CLOSINGS = {
  [UpgradeCondition.controlPlaneWindowRemoved]: (silences, signal) => silences.endControlPlane(signal),
  [UpgradeCondition.workersWindowRemoved]: (silences, signal) => silences.endWorkers(signal),
} as const satisfies Readonly<Record<string, (silences: Silences, signal: AbortSignal) => Promise<void>>>;
type ClosingCondition = keyof typeof CLOSINGS;

/**
 * Closes a window, unless it is closed. One that cannot be closed is said to be open and tried again.
 * Alertmanager holds nobody up meanwhile, for its silences run out by themselves.
 */
export async function closeWindow(
  type: ClosingCondition,
  { entry, silences, signal }: { readonly entry: UpgradeHistory; readonly silences: Silences; readonly signal: AbortSignal },
): Promise<StepOutcome> {
  if (isTrue(entry, type)) return done;
  try {
    await CLOSINGS[type](silences, signal);
    return done;
  } catch (error) {
    return { ...failed(errorMessage(error)), goesOn: true, afterMs: MINUTE };
  }
}

/** Windows that are still to be closed: whoever has come so far says so. */
export const openWindows = (entry: UpgradeHistory): ClosingCondition[] =>
  ([UpgradeCondition.controlPlaneWindowRemoved, UpgradeCondition.workersWindowRemoved] as const).filter(
    (type) => conditionOf(entry, type) !== undefined && !isTrue(entry, type),
  );

/** A pool that has not begun after so long has nothing to change. */
const REACTION_MINUTES = 5;

/** The steps from the sending of the cluster to the end of its windows. */
export const during = {
  /** Sends the cluster to the target. From here on nothing gives the upgrade up. */
  commence: {
    async run({ target, cluster, isCommenced, ports, writes, whileAsked, notify, logger, signal }) {
      ports.metrics.windowBreached(false);
      if (isCommenced) return done;
      await notify(NotificationState.controlPlaneStarted);
      let { clusterVersion } = cluster;
      if (target.kind === 'version' && clusterVersion.spec.channel !== target.channel) {
        const change = channelChange(clusterVersion, target.channel);
        clusterVersion = await whileAsked(() => writes.patchClusterVersion(cluster.clusterVersion, change, signal));
      }
      const patch = commencement(clusterVersion, target);
      if (!patch) return waiting(`version ${target.version} among the available or conditional updates of the ClusterVersion`);
      await whileAsked(() => writes.patchClusterVersion(clusterVersion, { ...patch, ...channelKept(clusterVersion) }, signal));
      logger.info({ version: target.version }, 'Sent the cluster to its version');
      return done;
    },
  },
  /** Waits until the cluster version operator says that the version is applied. */
  'await-control-plane': {
    async run({ entry, target, cluster, isCommenced, config, nowMs, ports, notify }) {
      const { version } = target;
      if (hasCompleted(cluster.clusterVersion, version)) {
        await notify(NotificationState.controlPlaneFinished);
        ports.metrics.controlPlaneTimeout(version, false);
        return done;
      }
      // Not from upgradeAt on: an upgrade that begins hours late is not late here.
      const commencedAt = Date.parse(conditionOf(entry, UpgradeCondition.commenced)?.completeTime ?? '') || nowMs;
      const deadline = (startedAt(cluster.clusterVersion, version) ?? commencedAt) + config.maintenance.controlPlaneTime * MINUTE;
      const isLate = nowMs > deadline;
      if (isLate) ports.metrics.controlPlaneTimeout(version, true);
      // In the pass that sends the cluster, its ClusterVersion is the one from before.
      const instead = isCommenced ? askedInstead(cluster.clusterVersion, target) : undefined;
      const reason = `version ${version} to be applied${instead === undefined ? '' : `, but ${instead}`}`;
      return waiting(reason, isLate ? undefined : deadline - nowMs + 1);
    },
  },
  /** Ends the silences of the control plane. */
  'close-control-plane-window': {
    run: ({ entry, ports: { silences }, signal }) => closeWindow(UpgradeCondition.controlPlaneWindowRemoved, { entry, silences, signal }),
  },
  /** Silences what the change of workers sets off, for as long as those that are left may take. */
  'open-workers-window': {
    async run({ upgradeConfig, entry, target, cluster, config, nowMs, ports, signal }) {
      const { remaining, isUpgrading } = workerPools(cluster.pools, entry.poolConfigurations);
      if (!isUpgrading || remaining < 1) return done;
      const minutes = workerMinutes(remaining, {
        forceDrain: upgradeConfig.spec.PDBForceDrainTimeout,
        drainTimeOut: config.nodeDrain.timeOut,
        expectedDrain: config.nodeDrain.expectedNodeDrainTime,
      });
      // Before its first try this attempt has had none.
      const since = Date.parse(conditionOf(entry, UpgradeCondition.workersWindowCreated)?.startTime ?? '') || Number.POSITIVE_INFINITY;
      const endsAt = nowMs + minutes * MINUTE;
      await ports.silences.setWorkers({ version: target.version, endsAt, remainingNodes: remaining, since }, signal);
      return done;
    },
  },
  /** Waits until every pool of workers has what the new version configures. */
  'await-workers': {
    async run(context) {
      const { entry, target, cluster, config, nowMs, ports, notify, signal } = context;
      const { machines, updated, isUpgrading, untouched } = workerPools(cluster.pools, entry.poolConfigurations);
      if (isUpgrading) {
        // Alertmanager alone knows whether its window has run out: asked again every minute.
        ports.metrics.workerTimeout(target.version, !(await ports.silences.isStanding(signal)));
        const stuck = await ports.nodes.stuck({ nodes: cluster.nodes, expectedMinutes: config.nodeDrain.expectedNodeDrainTime }, signal);
        const progress = `${machines - updated} of ${machines} workers`;
        return waiting(describeWorkers({ progress, pools: cluster.pools, stuck, nodes: cluster.nodes }), MINUTE);
      }
      const reactsUntil =
        (Date.parse(conditionOf(entry, UpgradeCondition.controlPlaneUpgraded)?.completeTime ?? '') || 0) + REACTION_MINUTES * MINUTE;
      if (untouched.length > 0 && nowMs < reactsUntil)
        return waiting(`machine config pool ${untouched.join(', ')} to take up the configuration of the new version`, reactsUntil - nowMs);
      ports.metrics.workerTimeout(target.version, false);
      const paused = describePaused(cluster.pools);
      await notify(NotificationState.workersFinished, paused);
      return paused === undefined ? done : skipped(`machine config pools are paused before all their machines were updated: ${paused}`);
    },
  },
  /** Takes the extra workers away again; whoever asked for none any more gets rid of them too. */
  'remove-capacity': {
    async run({ upgradeConfig, cluster, config, nowMs, ports, writes, drains, notify, logger, signal }) {
      const { sets, nodes, homeless, machines } = surgeRemains(cluster);
      for (const set of sets) {
        await writes.deleteMachineSet(set, signal);
        logger.info({ machineSet: set.metadata.name }, 'Took reserved capacity away');
      }
      if (homeless !== undefined) return failed(`an upgrade machine ${homeless} exists but has no node association`);
      let afterMs: number | undefined;
      for (const name of nodes) {
        const node = cluster.nodes.find(({ metadata }) => metadata.name === name);
        const drain = node && (await drains.force(node, { upgradeConfig, config, nowMs, notify, logger, signal }));
        if (drain?.isLate) {
          ports.metrics.drainTimeout(name, true);
          return failed(name);
        }
        afterMs = Math.min(afterMs ?? Number.POSITIVE_INFINITY, drain?.afterMs ?? Number.POSITIVE_INFINITY);
      }
      if (machines.length > 0)
        return waiting(
          `machine ${machines.map(({ metadata }) => metadata.name).join(', ')} to go`,
          Number.isFinite(afterMs) ? afterMs : undefined,
        );
      if (sets.length > 0) return waiting(`MachineSet ${sets.map(({ metadata }) => metadata.name).join(', ')} to go`);
      ports.metrics.clearDrainTimeouts();
      return done;
    },
  },
  /** Ends the silences of the workers. */
  'close-workers-window': {
    run: ({ entry, ports: { silences }, signal }) => closeWindow(UpgradeCondition.workersWindowRemoved, { entry, silences, signal }),
  },
} satisfies Partial<StepCode>;
