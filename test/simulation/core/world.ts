import { createHash } from 'node:crypto';
import { isJsonObject } from '@flotilla/api';
import { OPERATOR_NAMESPACE, UpgradeConfigSpec } from '@flotilla/api/managed';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { MemoryServer } from '@flotilla/control-plane/memory';
import {
  createRandom,
  type PolicyPropagator,
  registerSpokes,
  type SimulatedSpokes,
  type StoredObject,
  startPolicyPropagator,
  startSimulatedSpokes,
} from '@flotilla/control-plane/simulators';
import { hubProgram } from '@flotilla/hub/program';
import type { Client } from '@flotilla/runtime';
import { embedProgram } from '@flotilla/runtime/testing';
import { hubCrds } from '../../fixtures/crds.ts';
import { SimulatedExchange } from './exchange.ts';
import { simulateMachine } from './machine.ts';
import { OperatedSpoke, VERSIONS } from './operated-spoke.ts';
import { SimulatedProcess } from './process.ts';
import { Scheduler } from './scheduler.ts';
import type { OperatedPart, Story } from './story.ts';
import { StormyWeather } from './weather.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const PULLER = 'registry.test/image-puller:1';
const PLATFORM = `registry.test/release@sha256:${'a'.repeat(64)}`;
/** A lease is renewed a thirtieth as often as by real hubs: each renewal is an event. */
const LEASE = { leaseDurationMs: 150_000, renewDeadlineMs: 100_000, retryPeriodMs: 60_000 };

/** From a change on an operated spoke to its agent's knowing of it, where its watch has broken. */
const LATE_MS = 10_000;

/** Status of an UpgradeConfig on a spoke that is played: the version is there as soon as it is asked for. */
const upgradedStatus = ({ spec }: StoredObject) => {
  const { version = VERSIONS.asked } = UpgradeConfigSpec.shape.desired.parse(isJsonObject(spec) ? spec.desired : undefined);
  return { history: [{ phase: 'Upgraded', version }] };
};

/** Made once: a schema takes longer to write out than a server to start. */
const CRDS = hubCrds();

/** Characters of the trace that are kept before its digest takes them. */
const LINES_LENGTH = 32_768;

type Stored = Parameters<NonNullable<ConstructorParameters<typeof MemoryServer>[0]>['onStored'] & object>;
/** A change of the hub's store, or of an operated spoke's. */
export interface StoredChange {
  readonly kind: Stored[0];
  readonly change: Stored[1];
  /** Undefined for the hub. */
  readonly spoke?: string;
}

/** Label of the row of a cluster, which the limits of the fleet ask for. */
export const ROW = 'row';

/** Name of a spoke by its number. */
export const spokeName = (number: number): string => `spoke-${number}`;

/** A hub with its fleet in this process. */
export class World implements Disposable {
  readonly story: Story;
  readonly scheduler: Scheduler;
  readonly server: MemoryServer;
  /** Users' client: in no process, and nothing happens on its way. */
  readonly user: Client;
  readonly names: readonly string[];
  spokes!: SimulatedSpokes;
  propagator!: PolicyPropagator;
  /** The spoke whose operators run. */
  readonly operated: OperatedSpoke | undefined;
  /** Changes of the event under way. */
  changes: StoredChange[] = [];
  /** Errors that ended hubs and operators which nobody had killed. */
  readonly crashes: unknown[] = [];
  readonly #weather: StormyWeather;
  readonly #machine: Disposable;
  readonly #agents: SimulatedProcess;
  readonly #trace = createHash('sha256');
  /** Lines of the trace that its digest does not have yet: each call of it costs more than most lines. */
  #lines = '';
  readonly #hubs = new Map<number, { process: SimulatedProcess; close: () => void }>();
  #started = 0;

  /** @param tracksFields the server notes who wrote which field when; no property asks for it */
  constructor(story: Story, { tracksFields = false } = {}) {
    this.story = story;
    const random = createRandom(story.seed, 'order');
    this.scheduler = new Scheduler(random, START);
    this.#machine = simulateMachine(this.scheduler, createRandom(story.seed, 'machine'));
    this.#weather = new StormyWeather(story, this.scheduler, (line) => this.note(line));
    this.#agents = new SimulatedProcess('agents', this.scheduler);
    this.names = Array.from({ length: story.spokes }, (_, index) => spokeName(index + 1));
    this.server = new MemoryServer({
      crds: CRDS,
      namespaces: ['policies'],
      clock: this.scheduler,
      seed: story.seed,
      tracksFields,
      // Managed fields are taken off what was read.
      sharesReadings: !tracksFields,
      onStored: (kind, change) => this.#noteStored({ kind, change }),
    });
    this.operated = story.operated && this.#operatedSpoke(story.operated);
    this.user = this.server.client({ manager: 'user' });
  }

  /** Milliseconds since the start. */
  get ms(): number {
    return this.scheduler.now() - START;
  }

  /** Calls and events of watches that were lost, doubled or cut. */
  get mishaps(): number {
    return this.#weather.mishaps;
  }

  /** Calls of hubs so far, but for leases and watches. */
  get asked(): readonly string[] {
    return this.#weather.asked;
  }

  /** Adds a line to what tells this run from another. */
  note(line: string): void {
    this.#lines += `${this.ms} ${line}\n`;
    if (this.#lines.length > LINES_LENGTH) this.#digestLines();
  }

  #digestLines(): void {
    this.#trace.update(this.#lines);
    this.#lines = '';
  }

  /** Digest of all that happened; ends the trace. */
  trace(): string {
    this.#digestLines();
    return this.#trace.digest('hex');
  }

  async start(): Promise<void> {
    const { story, names } = this;
    await registerSpokes(this.user, names);
    for (const [index, name] of (story.limits ? names : []).entries())
      if (index % 2 === 0) await this.user.patch(ManagedCluster, { name }, { metadata: { labels: { [ROW]: 'odd' } } }, { type: 'merge' });
    await this.user.create(PreCachingConfig, {
      metadata: { name: 'config', namespace: 'default' },
      spec: { overrides: { platformImage: PLATFORM } },
    });
    const agents = this.#agents;
    const framework = new SimulatedProcess('framework', this.scheduler);
    const spokes = startSimulatedSpokes({
      client: this.#connect(agents).client,
      clock: agents,
      names,
      seed: story.seed,
      job: { seconds: 60, jitter: 0.5, startupMs: 2_000, progressMs: 20_000 },
      work: { seconds: 5, jitter: 0.5, status: { UpgradeConfig: upgradedStatus } },
      ...(this.operated && { servers: { [spokeName(this.operated.part.cluster)]: this.operated.access(agents) } }),
    }).then((started) => {
      this.spokes = started;
    });
    const propagator = startPolicyPropagator({
      client: this.#connect(framework).client,
      clock: framework,
      seed: story.seed,
      compliance: { seconds: 30, jitter: 0.8 },
    }).then((started) => {
      this.propagator = started;
    });
    let isUp = false;
    void Promise.all([spokes, propagator, this.operated?.start()]).then(() => {
      isUp = true;
    });
    while (!isUp && (await this.scheduler.step()));
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } };
    for (const name of names) this.spokes.store(name).set(namespace);
    for (let hub = 1; hub <= story.hubs; hub += 1) this.startHub(hub);
  }

  startHub(number: number): void {
    this.#started += 1;
    const process = new SimulatedProcess(`hub-${number}.${this.#started}`, this.scheduler);
    const { client, close } = this.#connect(process);
    const argv = ['--precache-image', PULLER, '--backup-image', 'registry.test/recovery:1'];
    argv.push('--transport', this.story.transport, '--auto-upgrades', 'false', '--log-level', 'silent');
    const program = { ...hubProgram(argv, {}, () => client), clock: process };
    const { listen: _, ...silent } = program;
    const host = { signal: new AbortController().signal, identity: process.name, lease: { ...LEASE, clock: process } };
    embedProgram(silent, host).catch((error: unknown) => this.crashes.push(error));
    this.#hubs.set(number, { process, close });
  }

  /** The process of a hub, which is alive. */
  hub(number: number): SimulatedProcess | undefined {
    return this.#hubs.get(number)?.process;
  }

  killHub(number: number): void {
    const hub = this.#hubs.get(number);
    hub?.process.kill();
    hub?.close();
    this.#hubs.delete(number);
  }

  get hubs(): number[] {
    return [...this.#hubs.keys()];
  }

  upgrades(): ClusterGroupUpgrade[] {
    return this.server.readAll(ClusterGroupUpgrade);
  }

  #noteStored(stored: StoredChange): void {
    const { kind, change, spoke } = stored;
    this.changes.push(stored);
    const where = spoke === undefined ? '' : `${spoke} `;
    this.note(`${where}${change.type} ${kind.plural} ${change.after.namespace}/${change.after.name} ${change.version}`);
  }

  #operatedSpoke(part: OperatedPart): OperatedSpoke {
    const spoke = spokeName(part.cluster);
    return new OperatedSpoke(part, {
      story: this.story,
      scheduler: this.scheduler,
      weather: this.#weather,
      connect: (process, server) => this.#connect(process, server),
      onCrash: (error) => this.crashes.push(error),
      onStored: (kind, change) => {
        this.#noteStored({ kind, change, spoke });
        this.#agents.setTimer(this.#weather.lagOf() ?? LATE_MS, () => {
          const { namespace, name } = change.after;
          this.spokes?.touch(spoke, kind, namespace || undefined, name);
        });
      },
    });
  }

  #connect(process: SimulatedProcess, server = this.server): { client: Client; close: () => void } {
    let close: () => void = () => undefined;
    const client = server.client({
      manager: process.name,
      through: (inner) => {
        close = () => void inner.close();
        return new SimulatedExchange(inner, process, this.#weather);
      },
    });
    return { client, close: () => close() };
  }

  [Symbol.dispose](): void {
    this.#machine[Symbol.dispose]();
  }
}
