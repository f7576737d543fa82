import { type HealthCheck, HealthReason } from './finding.ts';

/** As much of a Node as tells whether pods find a place on it. */
interface NodeState {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly effect?: string }[] | null;
  } | null;
}

type Nodes = { readonly nodes: readonly NodeState[] };

/** No worker was cordoned by somebody else than the roll-out of its pool (spec/muo 6.5). */
export const cordonedNodes: HealthCheck<Nodes> = {
  reasons: [HealthReason.nodesCordoned, HealthReason.nodesUnknown],
  look({ nodes }) {
    const names = nodes.filter((node) => isWorker(node) && isCordoned(node) && !isRolledOut(node)).map(({ metadata }) => metadata.name);
    if (names.length === 0) return undefined;
    const token = `NodeUnschedulableHealthcheckFailed:(${names.join(',')})`;
    return { reason: HealthReason.nodesCordoned, message: `cordoned nodes: ${names.join(', ')}`, token };
  },
};

const PRESSURES = ['memory-pressure', 'disk-pressure', 'pid-pressure'].map((name) => `node.kubernetes.io/${name}`);

/** No node is short of memory, disk or process ids (spec/muo 6.5). One with several is named several times, by what it lacks. */
export const pressureTaints: HealthCheck<Nodes> = {
  reasons: [HealthReason.nodesTainted],
  look({ nodes }) {
    const names = PRESSURES.flatMap((key) => nodes.filter((node) => hasTaint(node, key)).map(({ metadata }) => metadata.name));
    if (names.length === 0) return undefined;
    const token = `NodeUnschedulableTaintHealthcheckFailed:(${names.join(',')})`;
    return { reason: HealthReason.nodesTainted, message: `unschedulable taints on nodes: ${names.join(', ')}`, token };
  },
};

const isWorker = ({ metadata: { labels = {} } }: NodeState): boolean =>
  'node-role.kubernetes.io/worker' in labels && !('node-role.kubernetes.io/infra' in labels);

const isCordoned = (node: NodeState): boolean => node.spec?.unschedulable === true && hasTaint(node, 'node.kubernetes.io/unschedulable');

/** Its machine config daemon is at work on it. */
const isRolledOut = ({ metadata }: NodeState): boolean => metadata.annotations?.['machineconfiguration.openshift.io/state'] === 'Working';

const hasTaint = ({ spec }: NodeState, key: string): boolean =>
  spec?.taints?.some((taint) => taint.key === key && taint.effect === 'NoSchedule') ?? false;
