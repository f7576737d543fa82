import { errorMessage } from '@flotilla/api';
import { NotificationState, UpgradeCondition } from '@flotilla/api/managed';
import { describePaused, isTrue } from '@flotilla/upgrade';
import { done, failed, type StepCode, toldOutcome } from './step.ts';

/** The steps once all machines are updated. */
export const after = {
  /** Calls an upgrade done only on a cluster that is fit. */
  'check-health-after': {
    async run({ upgradeConfig, entry, cluster, config, ports, signal }) {
      const verdict = await ports.health.after({ upgradeConfig, phase: entry.phase, cluster, config }, signal);
      if (verdict.blocks) return failed(verdict.message ?? 'the cluster is not healthy');
      ports.metrics.clearDrainTimeouts();
      return done;
    },
  },
  /** Has file integrity measured anew where it is watched; once. */
  'post-upgrade-tasks': {
    async run({ entry, config, writes, signal }) {
      if (!config.environment.fedramp || isTrue(entry, UpgradeCondition.postUpgradeTasks)) return done;
      try {
        await writes.reinitFileIntegrity(signal);
        return done;
      } catch (error) {
        return failed(`failed to fetch file integrity osd-fileintegrity in openshift-file-integrity namespace: ${errorMessage(error)}`);
      }
    },
  },
  /** Tells that the upgrade is done. */
  'send-completed-notification': {
    run: async ({ cluster, notify }) => toldOutcome(await notify(NotificationState.completed, describePaused(cluster.pools))),
  },
} satisfies Partial<StepCode>;
