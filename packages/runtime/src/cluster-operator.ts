export {
  type Inertia,
  nextOperatorStatus,
  type OperandReport,
  type OperatorReport,
  type ReportedCondition,
  type ReporterMemory,
} from './cluster-operator/operator-status.ts';
export {
  type ClusterOperatorReporter,
  type ClusterOperatorReporterOptions,
  startClusterOperatorReporter,
} from './cluster-operator/reporter.ts';
