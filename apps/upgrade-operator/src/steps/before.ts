import { NotificationState, UpgradeCondition, VERSION_ANNOTATION } from '@flotilla/api/managed';
import { cacheObstacle, hasCompleted, hasWorkerSet, isTrue, planSurge, upgradeObstacle } from '@flotilla/upgrade';
import { done, failed, MINUTE, type StepCode, skipped, toldOutcome, waiting } from './step.ts';

/** Milliseconds between two looks: whoever proves the cache tells nobody. */
const LOOK_MS = 10_000;

/** The steps until the cluster is sent. */
export const before = {
  /** Tells that the upgrade has begun. One that could not be told before the cluster was sent is told after. */
  'send-started-notification': {
    async run({ entry, isCommenced, notify }) {
      const isAsked = entry.notifications?.some(({ state }) => state === NotificationState.started);
      return isCommenced && !isAsked ? done : toldOutcome(await notify(NotificationState.started));
    },
  },
  /** Tells when the upgrade has not changed anything some time after its start. A delay holds nothing up. */
  'report-delay': {
    endsWithCommencement: true,
    async run({ entry, config, nowMs, notify }) {
      const { delayTrigger } = config.upgradeWindow;
      if (delayTrigger <= 0) return done;
      const delayedAt = Date.parse(entry.startTime ?? '') + delayTrigger * MINUTE;
      if (nowMs <= delayedAt) return { ...done, afterMs: delayedAt - nowMs + 1 };
      await notify(NotificationState.delayed);
      return done;
    },
  },
  /** Asks whether operators let the cluster go to another minor version. */
  'check-upgradable': {
    endsWithCommencement: true,
    async run({ cluster, target, upgradeConfig }) {
      const obstacle = upgradeObstacle(cluster.clusterVersion, target.version, upgradeConfig.spec.upgradeAt);
      return obstacle === undefined ? done : failed(obstacle);
    },
  },
  /** Begins nothing on a cluster that is not fit. */
  'check-health-before': {
    endsWithCommencement: true,
    async run({ upgradeConfig, entry, cluster, config, ports, notify, signal }) {
      const verdict = await ports.health.before({ upgradeConfig, phase: entry.phase, cluster, config }, signal);
      if (verdict.tokens) await notify(NotificationState.healthCheck, verdict.tokens);
      return verdict.blocks ? failed(verdict.message ?? 'the cluster is not healthy') : done;
    },
  },
  /** Begins nothing while what the upgrade needs from outside does not answer. */
  'check-dependencies': {
    endsWithCommencement: true,
    async run({ config, ports, signal }) {
      const { http } = config.extDependencyAvailabilityChecks;
      if (http.urls.length > 0) await ports.dependencies.check(http, signal);
      return done;
    },
  },
  /** Begins nothing while a node is not proven to have the images of the release. Only where the configuration asks for it. */
  'check-cache': {
    endsWithCommencement: true,
    async run({ cluster, target, config, ports, nowMs, signal }) {
      const { maxAge } = config.cacheProof;
      const notes = (await ports.cachedReleases.read(signal)).values();
      const obstacle = cacheObstacle({ cluster, target, notes, maxAge, nowMs });
      return obstacle === undefined ? { ...done, afterMs: LOOK_MS } : waiting(obstacle, LOOK_MS);
    },
  },
  /** Adds a worker for each set of workers. When they do not come in time, the upgrade goes on without them. */
  'reserve-capacity': {
    endsWithCommencement: true,
    async run({ upgradeConfig, target, cluster, config, nowMs, ports, writes, whileAsked, notify, logger, signal }) {
      const { timeOut, extraMachinePools } = config.scale;
      if (!upgradeConfig.spec.capacityReservation) return done;
      if (!hasWorkerSet(cluster.machineSets) && extraMachinePools.length === 0) {
        await notify(NotificationState.scaleSkipped);
        return skipped('no MachineSet is of machine pool worker, and scale.extraMachinePools names no other');
      }
      const surge = planSurge(cluster, extraMachinePools, timeOut * MINUTE, nowMs);
      switch (surge.kind) {
        case 'none-to-copy':
          return failed('failed to get any machinesets to scale');
        case 'name-taken':
          return failed(
            `MachineSet ${surge.name} exists and was not made for an upgrade: delete or rename it, or ask for no extra workers`,
          );
        case 'create':
          for (const set of surge.sets) {
            const metadata = { ...set.metadata, annotations: { [VERSION_ANNOTATION]: target.version } };
            await whileAsked(() => writes.createMachineSet({ ...set, metadata }, signal));
            logger.info({ machineSet: set.metadata.name }, 'Reserved capacity');
          }
          return waiting(`MachineSet ${surge.sets.map(({ metadata }) => metadata.name).join(', ')}`);
        case 'waiting':
          return waiting(surge.reason, surge.deadlineMs - nowMs + 1);
        case 'late':
          ports.metrics.scalingFailed(true);
          logger.warn({ reason: surge.reason }, 'Capacity was not reserved in time, going on without it');
          await notify(NotificationState.skipped);
          return skipped(`${surge.reason} after ${timeOut} minutes`);
        case 'ready':
          ports.metrics.scalingFailed(false);
          return done;
      }
    },
  },
  /** Silences what the change of the control plane sets off. Once open, or once the control plane is through, there is nothing to do. */
  'open-control-plane-window': {
    async run({ entry, target, cluster, config, nowMs, ports, whileAsked, signal }) {
      const { controlPlaneTime, ignoredAlerts } = config.maintenance;
      const { version } = target;
      if (isTrue(entry, UpgradeCondition.controlPlaneWindowCreated) || hasCompleted(cluster.clusterVersion, version)) return done;
      const endsAt = nowMs + controlPlaneTime * MINUTE;
      const window = { version, endsAt, criticalAlerts: ignoredAlerts.controlPlaneCriticals };
      await whileAsked(() => ports.silences.startControlPlane(window, signal));
      return done;
    },
  },
} satisfies Partial<StepCode>;
