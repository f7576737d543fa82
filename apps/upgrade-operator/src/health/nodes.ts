import type { Node } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigState, MachineLabel, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';
import { type HealthCheck, HealthReason, type Seen } from './finding.ts';

/** No worker was cordoned by somebody else than the roll-out of its pool (spec/muo 6.5). */
export const cordonedNodes: HealthCheck<Seen<'nodes'>> = {
  reasons: [HealthReason.nodesCordoned, HealthReason.nodesUnknown],
  look({ cluster: { nodes } }) {
    const names = nodes.filter((node) => isWorker(node) && isCordoned(node) && !isRolledOut(node)).map(({ metadata }) => metadata.name);
    if (names.length === 0) return undefined;
    const token = `NodeUnschedulableHealthcheckFailed:(${names.join(',')})`;
    return { reason: HealthReason.nodesCordoned, message: `cordoned nodes: ${names.join(', ')}`, token };
  },
};

const PRESSURES = ['memory-pressure', 'disk-pressure', 'pid-pressure'].map((name) => `node.kubernetes.io/${name}`);

/** No node is short of memory, disk or process ids (spec/muo 6.5). One with several is named several times, by what it lacks. */
export const pressureTaints: HealthCheck<Seen<'nodes'>> = {
  reasons: [HealthReason.nodesTainted],
  look({ cluster: { nodes } }) {
    const names = PRESSURES.flatMap((key) => nodes.filter((node) => hasTaint(node, key)).map(({ metadata }) => metadata.name));
    if (names.length === 0) return undefined;
    const token = `NodeUnschedulableTaintHealthcheckFailed:(${names.join(',')})`;
    return { reason: HealthReason.nodesTainted, message: `unschedulable taints on nodes: ${names.join(', ')}`, token };
  },
};

const isWorker = ({ metadata: { labels = {} } }: Node): boolean => MachineLabel.worker in labels && !(MachineLabel.infra in labels);

const isCordoned = (node: Node): boolean => node.spec?.unschedulable === true && hasTaint(node, UNSCHEDULABLE_TAINT);

/** Its machine config daemon is at work on it. */
const isRolledOut = ({ metadata }: Node): boolean => metadata.annotations?.[MachineConfigAnnotation.state] === MachineConfigState.working;

const hasTaint = ({ spec }: Node, key: string): boolean =>
  spec?.taints?.some((taint) => taint.key === key && taint.effect === 'NoSchedule') ?? false;
