import type { Metrics } from '@flotilla/runtime';
import { Gauge } from 'prom-client';
import { type MetricName, metricLabels, type Sample } from './samples.ts';

const help: Readonly<Record<MetricName, string>> = {
  cluster_version: 'Versions of the cluster by type, as seconds since the epoch',
  cluster_version_available_updates: 'Updates that are recommended',
  cluster_version_capability: 'Capabilities: 1 enabled, 0 known',
  cluster_operator_up: '1 while an operator is available',
  cluster_operator_conditions: 'Conditions of operators: 1 true, 0 false',
  cluster_operator_condition_transitions: 'Times a condition of an operator has changed since the start',
  cluster_installer: 'Who installed the cluster',
  cluster_version_operator_update_retrieval_timestamp_seconds: 'When updates were last retrieved, or what is asked for changed',
  cluster_version_conditional_update_condition_seconds: 'When a condition of an update under conditions last changed',
  cluster_version_risk_conditions: 'Risks of updates: 1 applies, 0 does not, -1 is not known',
  cluster_version_payload: 'Manifests of the release by whether they are applied',
  cluster_operator_payload_errors: 'Passes over the release that have failed',
};

/** Serves samples with the program's metrics, read anew at each scrape, until it is disposed of. */
export function serveSamples({ registry }: Metrics, samples: () => readonly Sample[]): Disposable {
  const gauges = new Map<MetricName, Gauge>();
  const [first, ...others] = Object.keys(metricLabels).filter((name): name is MetricName => name in help);
  const add = (name: MetricName, collect?: () => void): void => {
    const labelNames = [...metricLabels[name]];
    gauges.set(name, new Gauge({ name, help: help[name], labelNames, registers: [registry], ...(collect && { collect }) }));
  };
  // a registry collects in the order of registration: the first fills all
  if (first) add(first, () => fill(gauges, samples()));
  for (const name of others) add(name);
  return {
    [Symbol.dispose]: () => {
      for (const name of gauges.keys()) registry.removeSingleMetric(name);
    },
  };
}

function fill(gauges: ReadonlyMap<MetricName, Gauge>, samples: readonly Sample[]): void {
  for (const gauge of gauges.values()) gauge.reset();
  for (const { metric, labels, value } of samples) gauges.get(metric)?.set({ ...labels }, value);
}
