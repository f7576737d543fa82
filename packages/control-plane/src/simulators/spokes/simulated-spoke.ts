import type { AgentEvent } from '@flotilla/agent';
import { isJsonObject } from '@flotilla/api';
import { ApiError, type ServedResource } from '@flotilla/runtime';
import { createRandom } from '../../random.ts';
import type { SpokeFaults } from './faults.ts';
import { type JobEvent, pullerOf, runJob } from './simulated-job.ts';
import { SimulatedRequests } from './simulated-requests.ts';
import { playControllers } from './simulated-status.ts';
import { SimulatedWorks } from './simulated-works.ts';
import type { SpokeServer } from './spoke-server.ts';
import { SpokeStore, type StoredObject } from './spoke-store.ts';
import type { AgentPart, SpokeSurroundings } from './surroundings.ts';

/** One moment in the life of a simulated spoke. */
export interface SpokeEvent {
  /** Milliseconds since the epoch, by the process's clock. */
  readonly at: number;
  readonly type: JobEvent | AgentEvent | 'pods-succeeded';
  /** Name of the Job, action, view or work. */
  readonly name: string;
  /** Uid of the Job. */
  readonly uid?: string;
}

/** One real creation of a Job in a spoke. */
export interface JobCreation {
  readonly at: number;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, unknown>>;
}

/** One spoke: its objects, its Jobs, and its agent. */
export class SimulatedSpoke {
  readonly name: string;
  readonly store: SpokeStore;
  readonly jobs: JobCreation[] = [];
  readonly events: SpokeEvent[] = [];
  /** Uids of the upgrades for which images are pinned. */
  readonly pins = new Set<string>();
  faults: SpokeFaults;
  readonly #around: SpokeSurroundings;
  readonly #random: () => number;
  /** Apart, so that works do not change the run times of Jobs. */
  readonly #workRandom: () => number;
  readonly #requests: SimulatedRequests;
  readonly #works: SimulatedWorks;

  /** @param server beside its store */
  constructor(
    name: string,
    { faults = {}, server }: { readonly faults?: SpokeFaults; readonly server?: SpokeServer },
    around: SpokeSurroundings,
  ) {
    this.name = name;
    this.faults = faults;
    this.#around = around;
    this.#random = createRandom(around.seed, name);
    this.#workRandom = createRandom(around.seed, `${name}/works`);
    this.store = new SpokeStore({
      kinds: around.kinds,
      random: this.#random,
      now: () => this.now(),
      later: (fn) => void around.timers.after(around.namespaceDeletionMs, fn),
      onCreated: (served, object) => this.#onCreated(served, object),
      onChanged: (served, object) => this.#onChanged(served, object),
      onTouched: (...what) => this.#works.touch(...what),
    });
    const part: AgentPart = {
      spoke: name,
      store: this.store,
      server,
      around,
      random: this.#workRandom,
      latencyMs: () => around.executeLatencyMs + (this.faults.latencyMs ?? 0),
      faults: () => this.faults,
      onLost: () => {
        this.faults = { ...this.faults, lostView: undefined };
      },
      onEvent: (type, of) => this.#record({ type, name: of }),
      onError: (error) => around.onError(error, name),
    };
    this.#works = new SimulatedWorks(part);
    this.#requests = new SimulatedRequests(part);
    this.#seedNamespaces();
  }

  /** The spoke's own clock. */
  now(): number {
    return this.#around.timers.now();
  }

  /** An action came, changed or went. */
  wakeAction(name: string): void {
    this.#requests.actions.add(name);
  }

  /** A view came, changed or went. */
  wakeView(name: string): void {
    this.#requests.views.add(name);
  }

  /** A work came, changed or went. */
  wakeWork(name: string): void {
    this.#works.wake(name);
  }

  /** An object of its server came, changed or went. */
  touch(served: ServedResource, namespace: string | undefined, name: string): void {
    this.#works.touch(served, namespace, name);
  }

  /** The agent forgets what it did. */
  restart(): void {
    this.#works.restart();
  }

  /** Out of the hub's reach until `reconnect`; what was asked meanwhile is done then. Jobs go on. */
  disconnect(): void {
    this.#requests.pause();
    this.#works.pause();
  }

  reconnect(): void {
    this.#requests.resume();
    this.#works.resume();
  }

  stop(): void {
    this.#requests.stop();
    this.#works.stop();
  }

  #record(event: Omit<SpokeEvent, 'at'>): void {
    this.events.push({ at: this.#around.timers.now(), ...event });
  }

  #onChanged(served: ServedResource, object: StoredObject): void {
    const { timers, work } = this.#around;
    playControllers(served, object, {
      spoke: this.name,
      store: this.store,
      timers,
      random: this.#workRandom,
      shape: work,
      faults: this.faults,
    });
  }

  #onCreated(served: ServedResource, object: StoredObject): void {
    this.#onChanged(served, object);
    if (served.kind !== 'Job' || served.group !== 'batch') return;
    const { uid, namespace = '', name, annotations } = object.metadata;
    this.jobs.push({ at: this.#around.timers.now(), uid, namespace, name, annotations: isJsonObject(annotations) ? annotations : {} });
    const faults = jobFaults(this.faults, name);
    const { failJob } = faults;
    const created = this.jobs.filter((job) => job.name === name).length;
    const puller = pullerOf(object);
    runJob(object, {
      store: this.store,
      served,
      timers: this.#around.timers,
      now: () => this.now(),
      random: this.#random,
      shape: this.#around.job,
      faults,
      isHeld: () => this.faults.jobsHeld ?? false,
      fails:
        failJob === true ||
        (typeof failJob === 'number' && created <= failJob) ||
        (puller.mode === 'prove' && faults.lost === true) ||
        faults.nodeAway === true,
      onEvent: (type) => this.#record({ type, name, uid }),
      onPodDone: () => {
        this.#record({ type: 'pods-succeeded', name, uid });
        this.#onPulled(puller);
      },
    });
  }

  #onPulled({ mode, pinFor }: ReturnType<typeof pullerOf>): void {
    if (mode === 'pull') this.faults = { ...this.faults, lost: false };
    if (pinFor === undefined) return;
    if (mode === 'unpin') this.pins.delete(pinFor);
    else this.pins.add(pinFor);
  }

  #seedNamespaces(): void {
    const namespaces = this.store.kinds.find(({ group, kind }) => group === '' && kind === 'Namespace');
    if (!namespaces) return;
    for (const name of ['default', 'kube-system'])
      this.store.put(namespaces, undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
}

/** The faults of a spoke as far as they are about Jobs of a name. */
const jobFaults = (faults: SpokeFaults, name: string): SpokeFaults =>
  faults.faultyJob === undefined || faults.faultyJob === name
    ? faults
    : { ...faults, failJob: undefined, deadlineJobSeconds: undefined, jobNeverStarts: undefined };

/** True for a lost race with another writer: the newer object is on its way, so start over. */
export const isLostRace = (error: unknown): boolean => error instanceof ApiError && (error.status === 409 || error.status === 422);
