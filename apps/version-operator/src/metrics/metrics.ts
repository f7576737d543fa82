import type { MetricTable } from '@flotilla/runtime';

/** Gauges, named as dashboards and alerts have them. */
export const VERSION_METRICS = {
  cluster_version: {
    help: 'Versions of the cluster by type, as seconds since the epoch',
    labels: ['type', 'version', 'image', 'from_version'],
  },
  cluster_version_available_updates: {
    help: 'Updates that are recommended',
    labels: ['upstream', 'channel'],
  },
  cluster_version_capability: {
    help: 'Capabilities: 1 enabled, 0 known',
    labels: ['name'],
  },
  cluster_operator_up: {
    help: '1 while an operator is available',
    labels: ['name', 'version', 'reason'],
  },
  cluster_operator_conditions: {
    help: 'Conditions of operators: 1 true, 0 false',
    labels: ['name', 'condition', 'reason'],
  },
  cluster_operator_condition_transitions: {
    help: 'Times a condition of an operator has changed since the start',
    labels: ['name', 'condition'],
  },
  cluster_installer: {
    help: 'Who installed the cluster',
    labels: ['type', 'version', 'invoker'],
  },
  cluster_version_operator_update_retrieval_timestamp_seconds: {
    help: 'When updates were last retrieved, or what is asked for changed',
    labels: ['name'],
  },
  cluster_version_conditional_update_condition_seconds: {
    help: 'When a condition of an update under conditions last changed',
    labels: ['version', 'condition', 'status', 'reason'],
  },
  cluster_version_risk_conditions: {
    help: 'Risks of updates: 1 applies, 0 does not, -1 is not known',
    labels: ['condition', 'risk', 'reason'],
  },
  cluster_version_payload: {
    help: 'Manifests of the release by whether they are applied',
    labels: ['version', 'type'],
  },
  cluster_operator_payload_errors: {
    help: 'Passes over the release that have failed',
    labels: ['version'],
  },
} as const satisfies MetricTable;
export type MetricName = keyof typeof VERSION_METRICS;
