import { surgeRemains } from '@flotilla/upgrade';
import { done, failed, type Step, waiting } from './step.ts';

/** Takes the extra workers away again; whoever asked for none any more gets rid of them too. */
export const removeCapacity: Step = {
  name: 'remove-capacity',
  async run({ upgradeConfig, cluster, config, nowMs, ports, writes, drains, notify, logger, signal }) {
    const { sets, nodes, homeless, machines } = surgeRemains(cluster);
    for (const set of sets) {
      await writes.deleteMachineSet(set, signal);
      logger.info({ machineSet: set.metadata.name }, 'Took reserved capacity away');
    }
    if (homeless !== undefined) return failed(`an upgrade machine ${homeless} exists but has no node association`);
    let lookAgainMs: number | undefined;
    for (const name of nodes) {
      const node = cluster.nodes.find(({ metadata }) => metadata.name === name);
      const drain = node && (await drains.force(node, { upgradeConfig, config, nowMs, notify, logger, signal }));
      if (drain?.isLate) {
        ports.metrics.drainTimeout(name, true);
        return failed(name);
      }
      lookAgainMs = Math.min(lookAgainMs ?? Number.POSITIVE_INFINITY, drain?.lookAgainMs ?? Number.POSITIVE_INFINITY);
    }
    if (machines.length > 0)
      return waiting(
        `machine ${machines.map(({ metadata }) => metadata.name).join(', ')} to go`,
        Number.isFinite(lookAgainMs) ? lookAgainMs : undefined,
      );
    if (sets.length > 0) return waiting(`MachineSet ${sets.map(({ metadata }) => metadata.name).join(', ')} to go`);
    ports.metrics.clearDrainTimeouts();
    return done;
  },
};
