import { done, failed, type Step } from './step.ts';

/** Calls an upgrade done only on a cluster that is fit. */
export const checkHealthAfter: Step = {
  name: 'check-health-after',
  async run({ upgradeConfig, entry, cluster, config, ports, signal }) {
    const verdict = await ports.health.after({ upgradeConfig, phase: entry.phase, cluster, config }, signal);
    if (verdict.blocks) return failed(verdict.message ?? 'the cluster is not healthy');
    ports.metrics.clearDrainTimeouts();
    return done;
  },
};
