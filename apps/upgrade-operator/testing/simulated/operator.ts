/** One operator in the time of a clock that is moved on by hand, with a cluster and an Alertmanager in memory: for tests. */
import type { KubeObject, Ref, Resource } from '@flotilla/api';
import { Namespace, Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { MachineConfigPool, MachineSet, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';
import { UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { clientWith } from '@flotilla/control-plane/memory';
import { ManualClock } from '@flotilla/pace/testing';
import { type Client, type Clock, pause } from '@flotilla/runtime';
import type { MemoryAlertmanager } from '../memory-alertmanager.ts';
import { MemoryWorld } from '../memory-world.ts';
import { CASE_REF, memoryCluster } from '../operator-case.ts';
import { Recorder, timeText } from './recorder.ts';

interface Faults {
  readonly updatesHeld?: boolean;
  readonly controlPlaneHeld?: boolean;
}

/** Parts that play a cluster; a test takes them from `@flotilla/control-plane`, which no app imports. */
interface ClusterParts {
  readonly createSmallCluster: (client: Client) => Promise<void>;
  readonly startClusterActors: (options: {
    readonly client: Client;
    readonly clock: Clock;
    readonly offers: Readonly<Record<string, readonly string[]>>;
    readonly pace: {
      readonly controlPlaneMs: number;
      readonly nodeMs: number;
      readonly drainAgainMs: readonly [number, number];
      readonly lookAgainMs: number;
    };
  }) => Promise<{ setFaults(faults: Faults): void; stop(): Promise<void> }>;
}

const MINUTE = 60_000;
/** A Monday; half a second after the minute, so that what is due with it has happened when it is looked at. */
const BEGIN = Date.parse('2026-03-02T00:00:00.500Z');
const OFFERS = {
  'stable-4.14': ['4.14.10', '4.14.11', '4.14.12', '4.14.13', '4.14.14', '4.14.16'],
  'candidate-4.14': ['4.14.15'],
};

/** A cluster of two workers whose control plane takes an hour, and each drained worker ten minutes. */
export class SimulatedOperator {
  readonly recorder = new Recorder();
  readonly client: Client;
  readonly world: MemoryWorld;
  /** Refusal of what the operator sends; undefined lets it through. */
  refuse: (verb: 'patch' | 'delete', kind: Resource, ref: Ref, body?: unknown) => Error | undefined = () => undefined;
  /** The operator learns so late of changes of MachineSets, in milliseconds. */
  machineSetLagMs = 0;
  readonly #clock: ManualClock;
  #running: { readonly stopping: AbortController; readonly ended: Promise<void> };
  readonly #actors: Awaited<ReturnType<ClusterParts['startClusterActors']>>;

  private constructor(
    parts: Pick<SimulatedOperator, 'client' | 'world'>,
    clock: ManualClock,
    actors: Awaited<ReturnType<ClusterParts['startClusterActors']>>,
  ) {
    this.client = parts.client;
    this.world = parts.world;
    this.#clock = clock;
    this.#actors = actors;
    this.#running = this.#run();
  }

  #run() {
    const { client, world, recorder } = this;
    const clock = this.#clock;
    const stopping = new AbortController();
    const watch: Client['watch'] = (kind, options) => this.#late(kind, client.watch(kind, options), stopping.signal);
    const orRefused = async <T>(refusal: Error | undefined, act: () => Promise<T>): Promise<T> => {
      if (refusal) throw refusal;
      return act();
    };
    const patch: Client['patch'] = (kind, ref, body, options) =>
      orRefused(this.refuse('patch', kind, ref, body), () => client.patch(kind, ref, body, options));
    const remove: Client['delete'] = (kind, ref, options) =>
      orRefused(this.refuse('delete', kind, ref), () => client.delete(kind, ref, options));
    const ports = { ...world.ports, metrics: recorder.metrics, notifier: recorder.notifier };
    const refusing = clientWith(client, { watch, patch, delete: remove });
    return { stopping, ended: world.run({ client: refusing, clock, ports }, stopping.signal) };
  }

  async *#late<T>(kind: Resource, events: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, undefined> {
    for await (const event of events) {
      if (kind.kind === MachineSet.kind && this.machineSetLagMs > 0) await pause(this.#clock, this.machineSetLagMs, signal);
      yield event;
    }
  }

  /** @param aheadMinutes that Alertmanager's clock is ahead of the operator's */
  static async start({ createSmallCluster, startClusterActors }: ClusterParts, aheadMinutes = 0): Promise<SimulatedOperator> {
    const clock = new ManualClock(BEGIN);
    const client = memoryCluster(clock).client();
    const world = new MemoryWorld(clock);
    world.alertmanager.aheadMs = aheadMinutes * MINUTE;
    world.config = { ...world.config, nodeDrain: { ...world.config.nodeDrain, ignoredNamespacePatterns: ['^infra-'] } };
    await createSmallCluster(client);
    // The reference looks at the pool of workers alone.
    for (const name of ['infra', 'master']) await client.delete(MachineConfigPool, { name });
    const pace = { controlPlaneMs: 60 * MINUTE, nodeMs: 10 * MINUTE, drainAgainMs: [MINUTE, 5 * MINUTE] as const, lookAgainMs: MINUTE };
    const starting = startClusterActors({ client, clock, offers: OFFERS, pace });
    await clock.advance(0);
    return new SimulatedOperator({ client, world }, clock, await starting);
  }

  get alertmanager(): MemoryAlertmanager {
    return this.world.alertmanager;
  }

  /** Day and minute, of the operator. */
  get time(): string {
    return timeText(this.#clock.now());
  }

  /** Goes on until that minute, which is within a week; each minute `act` may do something before it is looked at. */
  async until(time: string, act: (time: string) => unknown = () => undefined): Promise<void> {
    for (let minute = 0; this.time !== time; minute += 1) {
      if (minute > 7 * 24 * 60) throw new RangeError(`no minute ${time}`);
      await this.#clock.advance(MINUTE);
      await act(this.time);
      await this.#clock.advance(0);
      await this.recorder.look(this.alertmanager, this.#clock.now());
    }
  }

  /** Nobody asks for an upgrade any more but for this one. @param at hours and minutes of the day that it is */
  async upgrade(version: string, at: string, channel = 'stable-4.14'): Promise<void> {
    await this.client.delete(UpgradeConfig, CASE_REF);
    const upgradeAt = `${new Date(this.#clock.now()).toISOString().slice(0, 10)}T${at}:00Z`;
    const spec = { type: 'OSD', upgradeAt, PDBForceDrainTimeout: 60, desired: { version, channel }, capacityReservation: false };
    await this.client.create(UpgradeConfig, { metadata: CASE_REF, spec });
  }

  async entry(): Promise<UpgradeHistory | undefined> {
    return (await this.client.get(UpgradeConfig, CASE_REF))?.status?.history?.[0];
  }

  /** Puts a pod on the first worker that nobody may evict. */
  async guard(namespace: string): Promise<void> {
    const labels = { app: 'guarded' };
    if (!(await this.client.get(Namespace, { name: namespace }))) await this.client.create(Namespace, { metadata: { name: namespace } });
    const budget: KubeObject & Record<string, unknown> = {
      metadata: { namespace, name: 'guard' },
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    };
    await this.client.create(PodDisruptionBudget, budget);
    const pod: KubeObject & Record<string, unknown> = {
      metadata: { namespace, name: 'guarded', labels },
      spec: { nodeName: 'worker-0', containers: [] },
    };
    await this.client.create(Pod, pod);
  }

  /** An administrator cordons a node, long ago. */
  async cordon(name: string): Promise<void> {
    const taint = { key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule', timeAdded: '2026-03-01T00:00:00Z' };
    await this.client.patch(Node, { name }, { spec: { unschedulable: true, taints: [taint] } }, { type: 'merge' });
  }

  /** Its owner takes that pod away. */
  async unguard(namespace: string): Promise<void> {
    // No kubelet would end what has its time.
    await this.client.delete(Pod, { namespace, name: 'guarded' }, { gracePeriodSeconds: 0 });
  }

  /** From now on this does not happen; what is left out does. */
  hold(faults: Faults): void {
    this.#actors.setFaults(faults);
  }

  /** Alertmanager is away from now on, or back; its clock goes on. */
  away(is: boolean): void {
    this.alertmanager.outage = is ? new Error('connect ECONNREFUSED') : undefined;
  }

  /** Another process takes its place. @param meanwhile what happens while there is none */
  async restart(meanwhile: () => unknown = () => undefined): Promise<void> {
    await this.#stop();
    await meanwhile();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    await this.#stop();
    await this.#actors.stop();
  }

  async #stop(): Promise<void> {
    const { stopping, ended } = this.#running;
    stopping.abort();
    await this.#clock.advance(0);
    await ended;
  }
}
