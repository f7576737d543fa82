import { Gauge } from 'prom-client';
import type { Metrics } from './metrics.ts';

/** The metrics of a room by name. */
export type MetricTable<N extends string = string> = Readonly<Record<N, { readonly help: string; readonly labels: readonly string[] }>>;

/** One value of a metric; every label of the metric is there. */
export interface Sample<N extends string = string> {
  readonly metric: N;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Serves samples with the program's metrics, read anew at each scrape, until it is disposed of. */
export function serveSamples<N extends string>(
  { registry }: Pick<Metrics, 'registry'>,
  table: MetricTable<N>,
  samples: () => readonly Sample<N>[],
): Disposable {
  const gauges = new Map<string, Gauge>();
  for (const [name, { help, labels }] of Object.entries<MetricTable[string]>(table)) {
    // A registry collects in the order of registration, so the first one fills all.
    const collect = gauges.size === 0 ? () => fill(gauges, samples()) : undefined;
    gauges.set(name, new Gauge({ name, help, labelNames: [...labels], registers: [registry], ...(collect && { collect }) }));
  }
  return {
    [Symbol.dispose]: () => {
      for (const name of gauges.keys()) registry.removeSingleMetric(name);
    },
  };
}

function fill(gauges: ReadonlyMap<string, Gauge>, samples: readonly Sample[]): void {
  for (const gauge of gauges.values()) gauge.reset();
  for (const { metric, labels, value } of samples) gauges.get(metric)?.set({ ...labels }, value);
}
