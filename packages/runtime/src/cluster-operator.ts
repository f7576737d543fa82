export type { OperatorReport, ReportedCondition } from './cluster-operator/operator-status.ts';
export { type ClusterOperatorReporter, startClusterOperatorReporter } from './cluster-operator/reporter.ts';
