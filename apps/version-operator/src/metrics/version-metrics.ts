import type { Ref } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, type ClusterOperator, type ClusterVersion, type ConfigCondition } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import { type Client, type Clock, type Metrics, serveSamples, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { type MetricSources, type Sample, sampleOf, samplesOf, VERSION_METRICS } from './samples.ts';

interface VersionMetricsOptions {
  readonly metrics: Metrics;
  readonly client: Pick<Client, 'get'>;
  readonly versions: WatchCache<ClusterVersion>;
  readonly operators: WatchCache<ClusterOperator>;
  /** The applied release, and its progress. */
  readonly work: () => Pick<MetricSources, 'release' | 'progress'>;
  readonly updatesFreshAtMs: () => number | undefined;
  readonly clock: Clock;
}

interface VersionMetrics extends Disposable {
  readonly countFailure: (version: string) => void;
}

/** Serves the metrics of a cluster's version with the program's. */
export function serveVersionMetrics(options: VersionMetricsOptions): VersionMetrics {
  const { metrics, client, versions, operators, work, updatesFreshAtMs, clock } = options;
  const tallies = new Tallies();
  const installer = new Installer(client, clock);
  const end = operators.subscribe((change) => {
    const { name } = change.object.metadata;
    if (change.type === 'deleted') tallies.countTransitions(name, change.object, undefined);
    else tallies.countTransitions(name, change.previous, change.object);
  });
  const served = serveSamples(metrics, VERSION_METRICS, () => [
    ...samplesOf({
      clusterVersion: versions.get({ name: CLUSTER_VERSION_NAME }),
      operators: operators.list(),
      ...work(),
      installer: installer.look(),
      updatesFreshAtMs: updatesFreshAtMs(),
    }),
    ...tallies.samples(),
  ]);
  return {
    countFailure: (version) => tallies.countFailure(version),
    [Symbol.dispose]: () => {
      end();
      served[Symbol.dispose]();
    },
  };
}

const NAMESPACE = 'openshift-config';
/** ConfigMaps of installers, the better one first. */
const INSTALLERS: readonly (readonly [type: string, ref: Ref])[] = [
  ['openshift-install', { namespace: NAMESPACE, name: 'openshift-install' }],
  ['other', { namespace: NAMESPACE, name: 'openshift-install-manifests' }],
];
const AGAIN_MS = 600_000;

/** Finds the installer of the cluster. Its two ConfigMaps hardly ever change, so they are read now and then instead of watched. */
class Installer {
  readonly #client: Pick<Client, 'get'>;
  readonly #clock: Clock;
  #found: MetricSources['installer'];
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(client: Pick<Client, 'get'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.look();
  }

  /** Returns the last answer, and asks again when that is long ago. */
  look(): MetricSources['installer'] {
    const now = this.#clock.now();
    if (now - this.#askedAtMs >= AGAIN_MS) {
      this.#askedAtMs = now;
      void this.#ask();
    }
    return this.#found;
  }

  async #ask(): Promise<void> {
    try {
      for (const [type, ref] of INSTALLERS) {
        const data = (await this.#client.get(ConfigMap, ref))?.data;
        if (!data) continue;
        this.#found = { type, data };
        return;
      }
      this.#found = undefined;
    } catch {
      // the last answer stays; the next look asks again
      this.#askedAtMs = Number.NEGATIVE_INFINITY;
    }
  }
}

type Conditions = readonly Pick<ConfigCondition, 'type' | 'status'>[];

/** Counters since the start of the program. */
export class Tallies {
  readonly #transitions = new Map<string, { readonly name: string; readonly condition: string; count: number }>();
  readonly #failures = new Map<string, number>();

  /** Counts what of an operator's conditions has flipped, come or gone. */
  countTransitions(name: string, before: ClusterOperator | undefined, after: ClusterOperator | undefined): void {
    const [old, now] = [statusesOf(before?.status?.conditions ?? []), statusesOf(after?.status?.conditions ?? [])];
    for (const condition of new Set([...old.keys(), ...now.keys()])) {
      if (old.get(condition) === now.get(condition)) continue;
      const key = JSON.stringify([name, condition]);
      const tally = this.#transitions.get(key) ?? { name, condition, count: 0 };
      tally.count += 1;
      this.#transitions.set(key, tally);
    }
  }

  countFailure(version: string): void {
    this.#failures.set(version, (this.#failures.get(version) ?? 0) + 1);
  }

  samples(): Sample[] {
    return [
      ...[...this.#transitions.values()].map(({ name, condition, count }) =>
        sampleOf('cluster_operator_condition_transitions', { name, condition }, count),
      ),
      ...[...this.#failures].map(([version, count]) => sampleOf('cluster_operator_payload_errors', { version }, count)),
    ];
  }
}

const statusesOf = (conditions: Conditions): ReadonlyMap<string, string> => new Map(conditions.map(({ type, status }) => [type, status]));

/** ConfigMap in which a cluster lists the authorities of client certificates. */
const REF = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };

/** The authorities of client certificates of a cluster; not known before they are followed. */
export class ScraperAuthorities {
  #cache: WatchCache<ConfigMap> | undefined;

  /** Reads them until the signal aborts. */
  follow(client: Client, surroundings: WatchSurroundings, signal: AbortSignal): void {
    const { namespace, name } = REF;
    this.#cache = new WatchCache(client, ConfigMap, { ...surroundings, namespace, fieldSelector: `metadata.name=${name}` });
    this.#cache.start(signal);
  }

  /** PEM; undefined while they are not known. */
  get pem(): string | undefined {
    return this.#cache?.get(REF)?.data?.['client-ca-file'] || undefined;
  }
}
