import { errorMessage } from '@flotilla/api';
import type { ClusterOperator } from '@flotilla/api/config';
import type { Node } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigState, MachineLabel, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';
import type { Prometheus } from '@flotilla/http';
import type { ObservedCluster } from '@flotilla/upgrade';
import type { OperatorConfig } from '../operator-config/schema.ts';
import { alertNames, criticalAlertsQuery } from './alerts.ts';

/** Reasons of `upgradeoperator_healthcheck_failed` (spec/muo 10.1). */
export const HealthReason = {
  queryFailed: 'healthcheck_query_failed',
  criticalAlerts: 'critical_alerts_firing',
  operatorsDegraded: 'cluster_operators_degraded',
  operatorsUnknown: 'cluster_operator_status_failed',
  noWorkerPool: 'default_worker_machinepool_not_found',
  nodesUnknown: 'cluster_node_query_failed',
  nodesCordoned: 'cluster_node_manually_cordoned',
  nodesTainted: 'cluster_node_taint_unschedulable',
  budgetViolated: 'cluster_invalid_pdb',
  budgetWrong: 'cluster_invalid_pdb_configuration',
  budgetsUnknown: 'pdb_query_failed',
  validationUnreachable: 'dvo_client_creation_failed',
  validationUnknown: 'dvo_metrics_query_failed',
} as const;
export type HealthReason = (typeof HealthReason)[keyof typeof HealthReason];

/** Failure that a check found. */
export interface Problem {
  readonly reason: HealthReason;
  /** For people. */
  readonly message: string;
  /** For owners: what spec/muo 6.1 has them told. */
  readonly token: string;
}

/** As much of a cluster as a check looks at. */
interface Seen<K extends keyof ObservedCluster> {
  readonly cluster: Pick<ObservedCluster, K>;
}

/** One kind of check. */
export interface HealthCheck<Q> {
  /** Every reason it may give: those it does not give are no longer so. */
  readonly reasons: readonly HealthReason[];
  /** Undefined: healthy. A question that is not answered is a problem. */
  readonly look: (question: Q, signal: AbortSignal) => Promise<Problem | undefined> | Problem | undefined;
}

const token = 'CriticalAlertsHealthcheckFailed';

/** No critical alert of the platform fires (spec/muo 6.2). Monitoring that does not answer is no good news. */
export const criticalAlerts = (
  prometheus: Pick<Prometheus, 'query'>,
): HealthCheck<{ readonly config: Pick<OperatorConfig, 'healthCheck'> }> => ({
  reasons: [HealthReason.queryFailed, HealthReason.criticalAlerts],
  async look({ config }, signal): Promise<Problem | undefined> {
    let firing: string[];
    try {
      firing = alertNames(await prometheus.query(criticalAlertsQuery(config.healthCheck), signal));
    } catch (error) {
      signal.throwIfAborted();
      return { reason: HealthReason.queryFailed, message: `unable to query critical alerts: ${errorMessage(error)}`, token };
    }
    if (firing.length === 0) return undefined;
    return { reason: HealthReason.criticalAlerts, message: `critical alert(s) firing: ${firing.join(', ')}`, token };
  },
});

/** No ClusterOperator is degraded or unavailable (spec/muo 6.3). */
export const clusterOperators: HealthCheck<Seen<'clusterOperators'>> = {
  reasons: [HealthReason.operatorsDegraded, HealthReason.operatorsUnknown],
  look({ cluster }) {
    const unwell = cluster.clusterOperators.filter((operator) => has(operator, 'Degraded', 'True') || has(operator, 'Available', 'False'));
    if (unwell.length === 0) return undefined;
    const names = unwell.map(({ metadata }) => metadata.name).join(', ');
    return { reason: HealthReason.operatorsDegraded, message: `degraded operators: ${names}`, token: 'ClusterOperatorsHealthcheckFailed' };
  },
};

const has = ({ status }: ClusterOperator, type: string, value: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false;

/** There is a worker pool that can be extended (spec/muo 6.4). */
export const capacity: HealthCheck<Seen<'machineSets'>> = {
  reasons: [HealthReason.noWorkerPool],
  look({ cluster: { machineSets } }) {
    if (machineSets.some(({ metadata }) => metadata.labels?.[MachineLabel.pool] === 'worker')) return undefined;
    return {
      reason: HealthReason.noWorkerPool,
      message: 'capacity cannot be reserved: no MachineSet is labelled hive.openshift.io/machine-pool=worker',
      token: 'CapacityReservationHealthcheckFailed',
    };
  },
};

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
