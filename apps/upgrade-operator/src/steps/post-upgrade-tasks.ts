import { errorMessage } from '@flotilla/api';
import { UpgradeCondition } from '@flotilla/api/managed';
import { isTrue } from '@flotilla/upgrade';
import { done, failed, type Step } from './step.ts';

/** Has file integrity measured anew where it is watched; once. */
export const postUpgradeTasks: Step = {
  name: 'post-upgrade-tasks',
  async run({ entry, config, writes, signal }) {
    if (!config.environment.fedramp || isTrue(entry, UpgradeCondition.postUpgradeTasks)) return done;
    try {
      await writes.reinitFileIntegrity(signal);
      return done;
    } catch (error) {
      return failed(`failed to fetch file integrity osd-fileintegrity in openshift-file-integrity namespace: ${errorMessage(error)}`);
    }
  },
};
