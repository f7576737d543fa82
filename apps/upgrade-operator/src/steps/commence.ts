import { NotificationState } from '@flotilla/api/managed';
import { commencement } from '@flotilla/upgrade';
import { done, type Step, waiting } from './step.ts';

/** Sends the cluster to the target. From here on nothing gives the upgrade up. */
export const commence: Step = {
  name: 'commence',
  endsWithCommencement: false,
  async run({ target, cluster, isCommenced, ports, writes, notify, logger, signal }) {
    ports.metrics.windowBreached(false);
    if (isCommenced) return done;
    await notify(NotificationState.controlPlaneStarted);
    let { clusterVersion } = cluster;
    if (target.kind === 'version' && clusterVersion.spec.channel !== target.channel)
      clusterVersion = await writes.patchClusterVersion(clusterVersion, { spec: { channel: target.channel } }, signal);
    const patch = commencement(clusterVersion, target);
    if (!patch) return waiting(`version ${target.version} among the available or conditional updates of the ClusterVersion`);
    await writes.patchClusterVersion(clusterVersion, patch, signal);
    logger.info({ version: target.version }, 'Sent the cluster to its version');
    return done;
  },
};
