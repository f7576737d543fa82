import type { ObservedCluster } from '@flotilla/upgrade';

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
export interface Seen<K extends keyof ObservedCluster> {
  readonly cluster: Pick<ObservedCluster, K>;
}

/** One kind of check. */
export interface HealthCheck<Q> {
  /** Every reason it may give: those it does not give are no longer so. */
  readonly reasons: readonly HealthReason[];
  /** Undefined: healthy. A question that is not answered is a problem. */
  readonly look: (question: Q, signal: AbortSignal) => Promise<Problem | undefined> | Problem | undefined;
}
