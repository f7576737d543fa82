import { type KubeObject, type Resource, refKey, resource, KubeObject as Schema } from '@flotilla/api';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { type Client, type Clock, pause, systemClock, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';

/** Versions that the operators of a release report, and the Deployments that make them report. */
export const OperatorScript = z.object({
  version: z.string(),
  operators: z.record(
    z.string(),
    z.object({
      versions: z.array(z.object({ name: z.string(), version: z.string() })),
      deployments: z.array(z.object({ namespace: z.string(), name: z.string(), image: z.string() })),
    }),
  ),
});
export type OperatorScript = z.output<typeof OperatorScript>;

/** Operators to play, and their pace. */
export interface FakeOperatorsOptions {
  /** Client of the cluster. It stays the caller's. */
  readonly client: Client;
  /** In the order of releases: of the first, operators report at once. */
  readonly releases: readonly OperatorScript[];
  /** From a ClusterOperator's creation to its first report, milliseconds. Default 0. */
  readonly delayMs?: number;
  /** From the change of an operator's Deployments to its report of the new version, milliseconds. Default 1 000. */
  readonly updateDelayMs?: number;
  /** Report a release as soon as the cluster is sent to it, whatever has been applied. Default false. */
  readonly eager?: boolean;
  /** True when StatefulSets roll out; default true. */
  readonly statefulSets?: boolean;
  readonly clock?: Clock;
}

/** Deviations of an operator; by default it is as it should be. */
export interface OperatorFault {
  readonly available?: boolean;
  readonly degraded?: boolean;
  /** Keeps the versions it reports. */
  readonly isSlow?: boolean;
}

/** Acts as every operator of a release, and as the controllers of workloads, which there are none of beside an API server alone. */
export interface FakeOperators extends AsyncDisposable {
  /** From now on the operator is like this; undefined: as it should be. */
  setOperator(name: string, fault: OperatorFault | undefined): void;
  /** The Deployment of `namespace/name` never gets its new pods, or does again. */
  setStuck(deployment: string, isStuck: boolean): void;
  stop(): Promise<void>;
}

const WorkloadSchema = Schema.extend({
  spec: z
    .looseObject({
      replicas: z.number().optional(),
      template: z
        .looseObject({
          spec: z.looseObject({ containers: z.array(z.looseObject({ image: z.string().optional() })).default([]) }).optional(),
        })
        .optional(),
    })
    .optional(),
  status: z.looseObject({ observedGeneration: z.number().optional(), unavailableReplicas: z.number().optional() }).optional(),
});
type Workload = z.output<typeof WorkloadSchema>;
const Deployments = resource('apps/v1', 'Deployment', 'deployments', true, WorkloadSchema);
const DaemonSets = resource('apps/v1', 'DaemonSet', 'daemonsets', true, WorkloadSchema);
const StatefulSets = resource('apps/v1', 'StatefulSet', 'statefulsets', true, WorkloadSchema);

/** Starts the operators; they answer until they are stopped. */
export async function startFakeOperators(options: FakeOperatorsOptions): Promise<FakeOperators> {
  const operators = new RunningOperators(options);
  await operators.start();
  return operators;
}

class RunningOperators implements FakeOperators {
  readonly #options: FakeOperatorsOptions;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  readonly #operators: WatchCache<ClusterOperator>;
  readonly #deployments: WatchCache<Workload>;
  readonly #daemonSets: WatchCache<Workload>;
  readonly #statefulSets: WatchCache<Workload>;
  readonly #versions: WatchCache<ClusterVersion>;
  readonly #owners = new Map<string, Set<string>>();
  readonly #faults = new Map<string, OperatorFault>();
  readonly #stuck = new Set<string>();
  readonly #pending = new Map<string, Promise<void>>();
  /** Pending keys that changed meanwhile: their event may come before the answer to the write. */
  readonly #again = new Set<string>();

  constructor(options: FakeOperatorsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const clock = this.#clock;
    this.#operators = new WatchCache(options.client, ClusterOperator, { optional: true, absentRetryMs: 200, clock });
    this.#versions = new WatchCache(options.client, ClusterVersion, { optional: true, absentRetryMs: 200, clock });
    this.#deployments = new WatchCache(options.client, Deployments, { clock });
    this.#daemonSets = new WatchCache(options.client, DaemonSets, { clock });
    this.#statefulSets = new WatchCache(options.client, StatefulSets, { clock });
    for (const { operators } of options.releases)
      for (const [name, { deployments }] of Object.entries(operators))
        for (const deployment of deployments) {
          const key = refKey(deployment);
          this.#owners.set(key, (this.#owners.get(key) ?? new Set()).add(name));
        }
  }

  async start(): Promise<void> {
    this.#operators.subscribe(({ object }) => this.#report(object.metadata.name));
    this.#deployments.subscribe(({ type, object }) => {
      if (type === 'set') this.#roll(Deployments, object);
      for (const name of this.#owners.get(refKey(object.metadata)) ?? []) this.#report(name);
    });
    this.#daemonSets.subscribe(({ type, object }) => type === 'set' && this.#roll(DaemonSets, object));
    if (this.#options.statefulSets ?? true)
      this.#statefulSets.subscribe(({ type, object }) => type === 'set' && this.#roll(StatefulSets, object));
    this.#versions.subscribe(() => {
      if (this.#options.eager) for (const { metadata } of this.#operators.list()) this.#report(metadata.name);
    });
    const caches = [this.#operators, this.#versions, this.#deployments, this.#daemonSets, this.#statefulSets];
    for (const cache of caches) cache.start(this.#stopping.signal);
    await Promise.all(caches.map((cache) => cache.synced()));
  }

  setOperator(name: string, fault: OperatorFault | undefined): void {
    if (fault) this.#faults.set(name, fault);
    else this.#faults.delete(name);
    this.#report(name);
  }

  setStuck(deployment: string, isStuck: boolean): void {
    if (isStuck) this.#stuck.add(deployment);
    else this.#stuck.delete(deployment);
    const object = this.#deployments.list().find(({ metadata }) => refKey(metadata) === deployment);
    if (object) this.#roll(Deployments, object);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([
      this.#operators.stopped(),
      this.#versions.stopped(),
      this.#deployments.stopped(),
      this.#daemonSets.stopped(),
      this.#statefulSets.stopped(),
      ...this.#pending.values(),
    ]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Index of the newest release whose images all Deployments of an operator run. */
  #reached(name: string): number {
    const { releases, eager = false } = this.#options;
    if (eager) {
      const desired = this.#versions.get({ name: 'version' })?.status?.desired?.version;
      return Math.max(
        0,
        releases.findIndex(({ version }) => version === desired),
      );
    }
    for (let index = releases.length - 1; index > 0; index--) {
      const deployments = releases[index]?.operators[name]?.deployments ?? [];
      const runs = deployments.every(({ namespace, name: of, image }) =>
        this.#deployments.get({ namespace, name: of })?.spec?.template?.spec?.containers.some((container) => container.image === image),
      );
      if (deployments.length > 0 && runs) return index;
    }
    return 0;
  }

  #report(name: string): void {
    const { releases, delayMs = 0, updateDelayMs = 1_000 } = this.#options;
    const operator = this.#operators.get({ name });
    const script = releases[this.#reached(name)]?.operators[name];
    if (!operator || !script) return;
    const fault = this.#faults.get(name) ?? {};
    const isNew = (operator.status?.conditions ?? []).length === 0;
    const isAsIs = sameConditions(operator, fault) && (fault.isSlow || sameVersions(operator, script.versions));
    if (!isNew && isAsIs) return;
    const isFault = !isNew && !sameConditions(operator, fault);
    const act = async () => {
      const now = releases[this.#reached(name)]?.operators[name];
      const current = this.#faults.get(name) ?? {};
      const versions = current.isSlow && !isNew ? {} : { versions: now?.versions };
      await this.#patch(ClusterOperator, operator, { ...versions, conditions: conditionsOf(current, this.#clock.now()) });
    };
    const ms = isNew ? delayMs : isFault ? 0 : updateDelayMs;
    this.#later(`operator ${name}`, { ms, act, look: () => this.#report(name) });
  }

  #roll(kind: Resource<Workload>, workload: Workload): void {
    const { generation = 0 } = workload.metadata;
    const isStuck = this.#stuck.has(refKey(workload.metadata));
    const wasStuck = (workload.status?.unavailableReplicas ?? 0) !== 0;
    if (workload.status?.observedGeneration === generation && wasStuck === isStuck) return;
    const cache = kind === Deployments ? this.#deployments : kind === DaemonSets ? this.#daemonSets : this.#statefulSets;
    const status = () => {
      if (kind === Deployments) return deploymentStatus(workload, isStuck, this.#clock.now());
      return kind === DaemonSets ? daemonSetStatus(workload) : statefulSetStatus(workload);
    };
    const look = () => {
      const current = cache.get(workload.metadata);
      if (current) this.#roll(kind, current);
    };
    this.#later(`${kind.kind} ${refKey(workload.metadata)}`, { ms: 0, act: () => this.#patch(kind, workload, status()), look });
  }

  #later(key: string, { ms, act, look }: { ms: number; act: () => Promise<void>; look: () => void }): void {
    if (this.#pending.has(key)) return void this.#again.add(key);
    const { signal } = this.#stopping;
    const work = pause(this.#clock, ms, signal)
      .then(() => (signal.aborted ? undefined : act()))
      .catch(() => undefined)
      .finally(() => {
        this.#pending.delete(key);
        if (this.#again.delete(key) && !signal.aborted) look();
      });
    this.#pending.set(key, work);
  }

  async #patch(kind: Resource<KubeObject>, { metadata }: KubeObject, status: unknown): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      try {
        await this.#options.client.patch(kind, metadata, { status }, { type: 'merge', subresource: 'status' });
        return;
      } catch {
        await pause(this.#clock, 100, this.#stopping.signal);
      }
    }
  }
}

const time = (nowMs: number): string => `${new Date(nowMs).toISOString().slice(0, 19)}Z`;

function conditionsOf({ available = true, degraded = false }: OperatorFault, nowMs: number) {
  const states = { Available: available, Degraded: degraded, Progressing: false, Upgradeable: true };
  const troubles: Readonly<Record<string, { readonly reason: string; readonly message: string } | undefined>> = {
    ...(!available && { Available: { reason: 'NoPods', message: 'No pod is ready.\nThe last one ended with 137.' } }),
    ...(degraded && { Degraded: { reason: 'PodsFailing', message: '1 of 3 pods fails.' } }),
  };
  return Object.entries(states).map(([type, is]) => ({
    type,
    status: is ? 'True' : 'False',
    ...(troubles[type] ?? { reason: 'AsExpected', message: 'All is well' }),
    lastTransitionTime: time(nowMs),
  }));
}

function sameConditions({ status }: ClusterOperator, { available = true, degraded = false }: OperatorFault): boolean {
  const is = (type: string, wanted: boolean) => status?.conditions?.some((one) => one.type === type && (one.status === 'True') === wanted);
  return Boolean(is('Available', available) && is('Degraded', degraded));
}

const sameVersions = ({ status }: ClusterOperator, wanted: readonly { name: string; version: string }[]): boolean =>
  (status?.versions ?? []).length === wanted.length &&
  wanted.every(({ name, version }) => status?.versions?.some((one) => one.name === name && one.version === version));

function deploymentStatus({ metadata, spec }: Workload, isStuck: boolean, nowMs: number) {
  const replicas = spec?.replicas ?? 1;
  const condition = (type: string, is: boolean, reason: string) => ({
    type,
    status: is ? 'True' : 'False',
    reason,
    message: reason,
    lastTransitionTime: time(nowMs),
    lastUpdateTime: time(nowMs),
  });
  return {
    observedGeneration: metadata.generation,
    replicas,
    updatedReplicas: isStuck ? 0 : replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    unavailableReplicas: isStuck ? 1 : null,
    conditions: [
      condition('Available', true, 'MinimumReplicasAvailable'),
      isStuck ? condition('Progressing', false, 'ProgressDeadlineExceeded') : condition('Progressing', true, 'NewReplicaSetAvailable'),
    ],
  };
}

const daemonSetStatus = ({ metadata }: Workload) => ({
  observedGeneration: metadata.generation,
  currentNumberScheduled: 3,
  desiredNumberScheduled: 3,
  numberReady: 3,
  numberAvailable: 3,
  updatedNumberScheduled: 3,
  numberMisscheduled: 0,
});

function statefulSetStatus({ metadata, spec }: Workload) {
  const replicas = spec?.replicas ?? 1;
  const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas, currentReplicas: replicas, updatedReplicas: replicas };
  return { ...counts, observedGeneration: metadata.generation, currentRevision: 'r', updateRevision: 'r' };
}
