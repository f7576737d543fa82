import { createMetrics, type Metrics, type MetricTable, serveSamples } from '@flotilla/runtime';
import { z } from 'zod';
import { loadApp } from './load-app.ts';
import { code, page, table } from './markdown.ts';

/** A metric as prom-client registers it. */
const Metric = z.object({ name: z.string(), help: z.string(), labelNames: z.array(z.string()) });
/** A metric of the page. */
interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Files that make metrics, by the programs that serve them; a test finds those that are missing here. */
export const METRIC_FILES = {
  every: 'packages/runtime/src/metrics.ts',
  upgrade: 'apps/upgrade-operator/src/metrics/upgrade-metrics.ts',
} as const;

/** Every metric, by the heading it stands under. */
export async function metricRows(): Promise<Readonly<Record<string, readonly MetricRow[]>>> {
  const every = createMetrics({ process: false });
  const upgrade = createMetrics({ process: false });
  const { createOperatorMetrics } = await loadApp<{ createOperatorMetrics: (registry: Registry, id: () => undefined) => unknown }>(
    'upgrade-operator',
    'metrics/upgrade-metrics.ts',
  );
  upgrade.registry.clear();
  createOperatorMetrics(upgrade.registry, () => undefined);
  const { SERIES_METRICS } = await loadApp<{ SERIES_METRICS: MetricTable }>('upgrade-operator', 'metrics/upgrade-series.ts');
  const hub = await loadApp<Record<'FLEET_METRICS' | 'PROCESS_METRICS', MetricTable>>('hub', 'metrics/samples.ts');
  const { VERSION_METRICS } = await loadApp<{ VERSION_METRICS: MetricTable }>('version-operator', 'metrics/samples.ts');
  return {
    'Every program': rowsOf(every.registry),
    'Upgrade operator': rowsOf(upgrade.registry),
    'Upgrade operator: from the UpgradeConfig': rowsOfTable(SERIES_METRICS),
    'Version operator': rowsOfTable(VERSION_METRICS),
    'Hub: every process': rowsOfTable(hub.PROCESS_METRICS),
    'Hub: the leader': rowsOfTable(hub.FLEET_METRICS),
  };
}

type Registry = Metrics['registry'];

const rowsOf = (registry: Registry): MetricRow[] =>
  registry.getMetricsAsArray().map((metric) => {
    const { name, help, labelNames } = Metric.parse(metric);
    return { name, type: metric.constructor.name.toLowerCase(), labels: labelNames, help };
  });

function rowsOfTable(metrics: MetricTable): MetricRow[] {
  const own = createMetrics({ process: false });
  own.registry.clear();
  serveSamples(own, metrics, () => []);
  return rowsOf(own.registry);
}

/** `docs/reference/metrics.md`. */
export async function metricsPage(): Promise<string> {
  const parts = Object.entries(await metricRows()).map(
    ([title, rows]) =>
      `## ${title}\n\n${table(
        ['metric', 'type', 'labels', 'meaning'],
        rows.map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
      )}`,
  );
  return page('Metrics', "Served at `/metrics`. Node's own metrics (`process_*`, `nodejs_*`) come with them.", ...parts);
}
