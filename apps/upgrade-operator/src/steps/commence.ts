import { NotificationState } from '@flotilla/api/managed';
import { channelChange, channelKept, commencement } from '@flotilla/upgrade';
import { done, type Step, waiting } from './step.ts';

/** Sends the cluster to the target. From here on nothing gives the upgrade up. */
export const commence: Step = {
  name: 'commence',
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
};
