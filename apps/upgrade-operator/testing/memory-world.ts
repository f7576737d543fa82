/** Surroundings of a cluster in memory, for tests. They outlive an operator, and the next one finds them as they are. */
import type { CachedRelease } from '@flotilla/api/managed';
import { type Client, type Clock, createChannel, createLogger, createMetrics, type EventToRecord, systemClock } from '@flotilla/runtime';
import { readConfig } from '../src/config.ts';
import { createSilences, isControlPlane, isWorkers } from '../src/maintenance/silences.ts';
import { runOperator } from '../src/operator.ts';
import type { OperatorConfig } from '../src/operator-config/schema.ts';
import type { HealthVerdict, Ports, ProviderProblem, UpgradeMetrics } from '../src/ports.ts';
import type { stepsOf } from '../src/upgraders.ts';
import { MemoryAlertmanager } from './memory-alertmanager.ts';
import { testConfig } from './test-config.ts';

/** One silence of the operator, as Alertmanager has it. */
interface MemorySilence {
  readonly plane: 'control plane' | 'criticals' | 'workers' | 'unknown';
  /** Version, and how many workers are left. */
  readonly about: string;
  /** In force, or about to be. */
  readonly active: boolean;
}

/** An operator in this process. */
interface InProcess {
  readonly client: Client;
  readonly clock: Clock;
  readonly argv?: readonly string[];
  /** Default: those of the world. */
  readonly ports?: Ports;
  readonly steps?: typeof stepsOf;
  readonly logLevel?: 'silent' | 'debug';
}

const healthy: HealthVerdict = { blocks: false };

/** Keeps what is done to it; a test changes how it answers. */
export class MemoryWorld {
  config: OperatorConfig = testConfig;
  problem: string | undefined;
  before: HealthVerdict | Error = healthy;
  after: HealthVerdict | Error = healthy;
  dependency: Error | undefined;
  cached: ReadonlyMap<string, CachedRelease> = new Map();
  provider: () => Promise<boolean> = async () => false;
  providerProblem: ProviderProblem | undefined;
  notifier: Error | undefined;
  /** Fake behind the silences: everything above it is the operator's own code. */
  readonly alertmanager: MemoryAlertmanager;
  images: Readonly<Record<string, string>> = {};
  updates: readonly string[] = [];
  stuck: Awaited<ReturnType<Ports['nodes']['stuck']>> = [];
  /** States, in the order the receiver saw them. It sees a state once, as OCM does, whose policy is in it by then. */
  readonly told: string[] = [];
  /** Last value of each metric that was set, by name and labels. */
  readonly metrics = new Map<string, unknown>();
  /** Events of the UpgradeConfig, as `reason: note`. */
  readonly events: string[] = [];
  readonly #configs = createChannel();
  readonly #providers = createChannel();
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.alertmanager = new MemoryAlertmanager(clock);
  }

  /** Silences that Alertmanager remembers, the earliest first. */
  get silences(): readonly MemorySilence[] {
    return this.alertmanager.peek().map(({ comment, status }) => ({
      plane: planeOf(comment),
      about: comment.replace(/^.* upgrade to version /, '').replace(/ remaining (\d+) nodes$/, ' $1'),
      active: status.state !== 'expired',
    }));
  }

  /** Runs an operator in these surroundings until the signal aborts. */
  run({ client, clock, argv = [], ports = this.ports, steps, logLevel = 'silent' }: InProcess, signal: AbortSignal): Promise<void> {
    const logger = createLogger({ name: 'operator', level: logLevel });
    const deps = { client, clock, settings: readConfig(argv, {}), logger, metrics: createMetrics({ process: false }) };
    return runOperator(deps, { createPorts: () => ports, ...(steps && { steps }) }, signal);
  }

  /** Tells operators that the configuration has changed. @param key of the UpgradeConfig */
  configure(config: Partial<OperatorConfig>, key: string): void {
    this.config = { ...this.config, ...config };
    this.#configs.enqueue(key);
  }

  get ports(): Ports {
    return {
      config: {
        current: () => ({ config: this.config, ...(this.problem !== undefined && { problem: this.problem }) }),
        watch: this.#configs,
      },
      notifier: {
        notify: async ({ state }) => {
          if (this.notifier) throw this.notifier;
          if (!this.told.includes(state)) this.told.push(state);
        },
      },
      silences: createSilences(this.alertmanager, this.#clock),
      health: { before: async () => orThrow(this.before), after: async () => orThrow(this.after) },
      dependencies: {
        check: async () => {
          if (this.dependency) throw this.dependency;
        },
      },
      cachedReleases: { read: async () => this.cached },
      provider: {
        refresh: () => this.provider(),
        whileUnchanged: (act) => act(),
        problem: () => this.providerProblem,
        watch: this.#providers,
      },
      alerts: { paging: async () => [] },
      nodes: { stuck: async () => this.stuck },
      metrics: this.#gauges(),
      events: { record: ({ reason, note }: EventToRecord) => void this.events.push(`${reason}: ${note}`) },
      releases: {
        versionOf: async (image) => {
          const version = this.images[image];
          if (version === undefined) throw new Error(`failed to fetch image manifest digest: ${image} needs to be a valid release image`);
          return version;
        },
        updates: async () => this.updates,
      },
    };
  }

  #gauges(): UpgradeMetrics {
    const set =
      (name: string) =>
      (...values: readonly unknown[]): void =>
        void this.metrics.set([name, ...values.slice(0, -1)].join(' '), values.at(-1));
    return {
      validationFailed: set('validationFailed'),
      scalingFailed: set('scalingFailed'),
      windowBreached: set('windowBreached'),
      controlPlaneTimeout: set('controlPlaneTimeout'),
      workerTimeout: set('workerTimeout'),
      drainTimeout: set('drainTimeout'),
      clearDrainTimeouts: () => {
        for (const name of this.metrics.keys()) if (name.startsWith('drainTimeout')) this.metrics.delete(name);
      },
      notificationFailed: set('notificationFailed'),
      notificationSent: set('notificationSent'),
      moment: set('moment'),
      result: set('result'),
      resetAll: () => this.metrics.clear(),
      resetFailed: () => this.metrics.clear(),
    };
  }
}

function planeOf(comment: string): MemorySilence['plane'] {
  if (isWorkers({ comment })) return 'workers';
  if (!isControlPlane({ comment })) return 'unknown';
  return comment.includes('critical alerts') ? 'criticals' : 'control plane';
}

function orThrow<T>(answer: T | Error): T {
  if (answer instanceof Error) throw answer;
  return answer;
}
