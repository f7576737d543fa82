import { NotificationState } from '@flotilla/api/managed';
import { done, failed, type Step } from './step.ts';

/** Begins nothing on a cluster that is not fit. */
export const checkHealthBefore: Step = {
  name: 'check-health-before',
  endsWithCommencement: true,
  async run({ upgradeConfig, entry, cluster, config, ports, notify, signal }) {
    const verdict = await ports.health.before({ upgradeConfig, phase: entry.phase, cluster, config }, signal);
    if (verdict.tokens) await notify(NotificationState.healthCheck, verdict.tokens);
    return verdict.blocks ? failed(verdict.message ?? 'the cluster is not healthy') : done;
  },
};
