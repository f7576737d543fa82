import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics every program has. Programs add their own to `registry`. */
export interface Metrics {
  readonly registry: Registry;
  /** Keys that are ready or running. Label `queue`. */
  readonly queueDepth: Gauge<'queue'>;
  /** Labels `controller` and `result` (`done`, `waiting`, `terminal`, `retry`). */
  readonly reconcileSeconds: Histogram<'controller' | 'result'>;
  /** Labels `verb`, `resource` (plural) and `code` (`0`: no answer). */
  readonly apiRequests: Counter<'verb' | 'resource' | 'code'>;
  /** Seconds until the answer was read; for a watch until it was accepted. */
  readonly apiRequestSeconds: Histogram<'verb' | 'resource'>;
  /** Label `how`: `watch` (went on from the last version) or `list` (read everything again). */
  readonly watchRestarts: Counter<'resource' | 'how'>;
  /** Kubernetes events. Labels `controller` and `result` (`created`, `failed`, `dropped`). */
  readonly events: Counter<'controller' | 'result'>;
  /** 1 while this process leads. */
  readonly leader: Gauge<'lease'>;
}

interface MetricsOptions {
  /** Adds Node's own (event loop, heap, CPU, RSS). Default true. */
  readonly process?: boolean;
}

/** A registry of its own with the standard metrics; several may live in one process. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (options.process ?? true) collectDefaultMetrics({ register: registry });
  return {
    registry,
    queueDepth: new Gauge({ name: 'flotilla_queue_depth', help: 'Keys that are ready or running', labelNames: ['queue'], registers }),
    reconcileSeconds: new Histogram({
      name: 'flotilla_reconcile_seconds',
      help: 'Duration of a reconcile by result',
      labelNames: ['controller', 'result'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
      registers,
    }),
    apiRequests: new Counter({
      name: 'flotilla_api_requests_total',
      help: 'API requests by answer',
      labelNames: ['verb', 'resource', 'code'],
      registers,
    }),
    apiRequestSeconds: new Histogram({
      name: 'flotilla_api_request_seconds',
      help: 'Duration of API requests',
      labelNames: ['verb', 'resource'],
      buckets: [0.002, 0.01, 0.05, 0.2, 1, 5, 30],
      registers,
    }),
    watchRestarts: new Counter({
      name: 'flotilla_watch_restarts_total',
      help: 'Watches that began again',
      labelNames: ['resource', 'how'],
      registers,
    }),
    events: new Counter({
      name: 'flotilla_events_total',
      help: 'Kubernetes events by what became of them',
      labelNames: ['controller', 'result'],
      registers,
    }),
    leader: new Gauge({ name: 'flotilla_leader', help: '1 while this process leads', labelNames: ['lease'], registers }),
  };
}

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
