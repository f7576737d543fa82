import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../toolchain/go-build.ts';
import { type ListeningServer, type ServerPlace, startListening } from './listening-server.ts';

/** An alert that fires. */
export interface FiringAlert {
  readonly alertname: string;
  /** Such as `severity` and `namespace`. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Options of a Prometheus. */
export interface PrometheusOptions {
  /** `host:port` of an Alertmanager that gets its alerts; default nobody. */
  readonly alertmanager?: string;
  /** `host:port` of programs whose `/metrics` it reads every second. */
  readonly targets?: readonly string[];
  /** Labels that every series of theirs gets, such as the namespace of a pod. */
  readonly targetLabels?: Readonly<Record<string, string>>;
  /** Default: a free one. */
  readonly port?: number;
  /** The node of a cluster, for its pods; default: this machine's loopback. */
  readonly on?: ServerPlace;
  readonly log?: Log;
}

/** A real Prometheus, which evaluates its rules every second. */
export interface PrometheusServer extends ListeningServer {
  /** From its next evaluation on these fire, and no other. */
  setAlerts(alerts: readonly FiringAlert[]): Promise<void>;
}

/** Starts the one of the package prometheus. */
export async function startPrometheus(options: PrometheusOptions = {}): Promise<PrometheusServer> {
  const { port, on, log } = options;
  const server = await startListening({
    name: 'prometheus',
    port,
    on,
    log,
    async args({ dir, address }) {
      await writeFile(rulesFile(dir), rulesFor([]));
      const config = join(dir, 'prometheus.yml');
      await writeFile(config, JSON.stringify(configFor(dir, options)));
      return [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        `--web.listen-address=${address}`,
        '--web.enable-lifecycle',
        // An alert that fires before the Alertmanager is found would be sent again a minute later.
        '--rules.alert.resend-delay=1s',
        '--log.level=warn',
      ];
    },
  });
  return {
    ...server,
    async setAlerts(alerts) {
      await writeFile(rulesFile(server.dir), rulesFor(alerts));
      const answer = await fetch(`${server.url}/-/reload`, { method: 'POST', signal: AbortSignal.timeout(10_000) });
      if (!answer.ok) throw new Error(`prometheus refused its rules: ${(await answer.text()).slice(0, 500)}`);
    },
  };
}

const rulesFile = (dir: string): string => join(dir, 'rules.yml');

const configFor = (dir: string, { alertmanager, targets = [], targetLabels: labels }: PrometheusOptions) => ({
  global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
  rule_files: [rulesFile(dir)],
  ...(alertmanager && { alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] } }),
  scrape_configs: [{ job_name: 'programs', static_configs: [{ targets, ...(labels && { labels }) }] }],
});

/** JSON is YAML. */
const rulesFor = (alerts: readonly FiringAlert[]): string =>
  JSON.stringify({
    groups: [{ name: 'alerts', rules: alerts.map(({ alertname, labels }) => ({ alert: alertname, expr: 'vector(1)', labels })) }],
  });
