import { upgradeObstacle } from '@flotilla/upgrade';
import { done, failed, type Step } from './step.ts';

/** Asks whether operators let the cluster go to another minor version. */
export const checkUpgradable: Step = {
  name: 'check-upgradable',
  endsWithCommencement: true,
  async run({ cluster, target, upgradeConfig }) {
    const obstacle = upgradeObstacle(cluster.clusterVersion, target.version, upgradeConfig.spec.upgradeAt);
    return obstacle === undefined ? done : failed(obstacle);
  },
};
