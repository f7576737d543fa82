/** A hub in memory that reconciles one upgrade step by step on one clock; what is around it is played by whoever extends it. */
import { findCondition } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { objectDefinitions } from '@flotilla/rollout';
import { buildClusterGroupUpgrade, UPGRADE } from '@flotilla/rollout/testing';
import { type Client, createLogger, createMetrics } from '@flotilla/runtime';
import { createCaches, fillCaches } from '../src/caches.ts';
import type { UpgradeJobs } from '../src/upgrades/jobs.ts';
import { UpgradeReconciler } from '../src/upgrades/reconciler.ts';
import { MemoryHub } from './memory-hub.ts';

/** Start of every world, milliseconds since the epoch. */
export const T0 = Date.parse('2026-01-01T12:00:00Z');
/** Milliseconds of a step. */
const STEP_MS = 10_000;

/** Options of a world. */
export interface UpgradeWorldOptions {
  readonly clusters: readonly string[];
  readonly canaries: readonly string[];
  readonly timeoutMinutes: number;
  readonly talmStrict?: boolean;
}

type Jobs = Pick<UpgradeJobs, 'precache' | 'nextProofs' | 'backUp' | 'backUpLate' | 'precacheLate' | 'end' | 'isClean' | 'owePins'>;

const NOT_PLACING = { apply: async () => undefined, forget: () => undefined };

const NO_JOBS: Jobs = {
  nextProofs: () => undefined,
  precache: () => undefined,
  backUp: () => undefined,
  backUpLate: () => undefined,
  precacheLate: () => ({}),
  end: async () => {},
  isClean: () => true,
  owePins: async () => {},
};

/** See the head of this file. */
export abstract class UpgradeWorld {
  /** All messages, conditions included, that the status has ever had, and the notes of events. */
  readonly said = new Set<string>();
  now = T0;
  protected readonly hub = new MemoryHub();
  /** When the batch of each cluster reached it, milliseconds since the epoch. */
  protected readonly reachedAt = new Map<string, number>();
  readonly #options: UpgradeWorldOptions;
  readonly #stop = new AbortController();
  #process: { readonly client: Client; readonly caches: ReturnType<typeof createCaches> } | undefined;
  #reconciler: UpgradeReconciler | undefined;

  constructor(options: UpgradeWorldOptions) {
    this.#options = options;
  }

  /** Fields of the upgrade's spec that say what is rolled out. */
  protected abstract readonly asks: Readonly<Record<string, unknown>>;
  /** The surroundings follow their facts. */
  protected abstract follow(): void;
  /** Plays the other loops of the hub, which write for the stored status. */
  protected write?(hub: { readonly client: Client; readonly caches: ReturnType<typeof createCaches> }): Promise<void>;

  get upgrade(): ClusterGroupUpgrade | undefined {
    return this.hub.get(ClusterGroupUpgrade, UPGRADE) as ClusterGroupUpgrade | undefined;
  }

  /** Status and reason of a condition. */
  condition(type: string): string | undefined {
    const found = findCondition(this.upgrade?.status?.conditions, type);
    return found && `${found.status} ${found.reason}`;
  }

  get recorded(): Readonly<Record<string, string>> {
    return Object.fromEntries((this.upgrade?.status?.clusters ?? []).map(({ name, state }) => [name, state]));
  }

  async begin(): Promise<void> {
    this.follow();
    const logger = createLogger({ name: 'test', level: 'silent' });
    const { client } = await this.hub.process();
    const caches = createCaches(client, { logger, metrics: createMetrics() });
    await fillCaches(caches, logger, this.#stop.signal);
    this.#process = { client, caches };
    this.#reconciler = new UpgradeReconciler({
      client,
      caches,
      rollout: { problems: () => new Map(), isClean: () => true, unservedOf: () => undefined },
      problems: () => new Map(),
      placing: NOT_PLACING,
      jobs: NO_JOBS,
      recorder: { record: ({ note }) => void this.said.add(note) },
      now: () => this.now,
      logger,
      talmStrict: this.#options.talmStrict ?? false,
      updateGraphUrl: undefined,
      lookUpRelease: () => ({ kind: 'pending' }),
      readPolicy: (policy) => objectDefinitions(policy),
      isBusy: () => false,
      standalone: false,
      precacheImage: '',
      precacheImageAllow: [],
    });
  }

  /** Creates the upgrade: canaries first, then one cluster at a time. */
  create(): void {
    const { clusters, canaries, timeoutMinutes } = this.#options;
    const remediationStrategy = { canaries, maxConcurrency: 1, timeout: timeoutMinutes };
    const spec = { clusters, ...this.asks, enable: true, remediationStrategy, batchTimeoutAction: 'Continue' };
    this.hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: { finalizers: [CLEANUP_FINALIZER] }, spec }));
  }

  /** One step of the clock: the surroundings follow their facts, and the hub looks. */
  async step(): Promise<void> {
    this.now += STEP_MS;
    this.follow();
    await this.#settle();
    await this.#reconciler?.reconcile(`${UPGRADE.namespace}/${UPGRADE.name}`);
    await this.#settle();
    if (this.#process) await this.write?.(this.#process);
    this.#look();
  }

  stop(): void {
    this.#stop.abort();
    this.hub.stop();
  }

  /** Watches have shown every object to the caches. */
  async #settle(): Promise<void> {
    const version = () => this.#process?.caches.upgrades.get(UPGRADE)?.metadata.resourceVersion;
    for (let turn = 0; turn < 3 || version() !== this.upgrade?.metadata.resourceVersion; turn += 1)
      await new Promise((resolve) => setImmediate(resolve));
  }

  #look(): void {
    const { status } = this.upgrade ?? {};
    for (const message of Object.values(status?.messages ?? {})) this.said.add(message);
    for (const { message } of [...(status?.conditions ?? []), ...(status?.clusters ?? [])])
      if (message !== undefined) this.said.add(message);
    for (const [cluster, { state }] of Object.entries(status?.status.currentBatchRemediationProgress ?? {}))
      if (state === 'InProgress' && !this.reachedAt.has(cluster)) this.reachedAt.set(cluster, this.now);
  }

  /** Writes an object where it differs. */
  protected put(kind: Parameters<MemoryHub['put']>[0], object: Parameters<MemoryHub['put']>[1]): void {
    const found = this.hub.get(kind, object.metadata);
    const bare = ({ metadata, ...rest }: Record<string, unknown> & { metadata: object }) => {
      const { uid: _, resourceVersion: __, creationTimestamp: ___, ...others } = metadata as Record<string, unknown>;
      return JSON.stringify([others, rest]);
    };
    if (!found || bare({ ...found }) !== bare({ ...object })) this.hub.put(kind, object);
  }

  /** The uid of a cluster; one that it did not have before is another machine. @param imports how often it was imported again */
  protected uidOf(name: string, imports: ReadonlyMap<string, number>): { readonly uid: string; readonly isOther: boolean } {
    const uid = `uid-${name}-${imports.get(name) ?? 0}`;
    const before = this.hub.get(ManagedCluster, { name });
    const isOther = before !== undefined && before.metadata.uid !== uid;
    if (isOther) {
      this.hub.remove(ManagedCluster, { name });
      this.reachedAt.delete(name);
    }
    return { uid, isOther };
  }
}
