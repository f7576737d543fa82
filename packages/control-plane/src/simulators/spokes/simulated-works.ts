import {
  createMemoryRecords,
  createTokenBucket,
  DEFAULT_WORK_CADENCE,
  matchesResource,
  passWork,
  type TokenBucket,
  WORK_HUB_BURST,
  WORK_HUB_QPS,
  type WorkAccess,
  type WorkCadence,
  type WorkMemory,
  type WorkStatus,
  watchedResources,
  withPullerAccount,
} from '@flotilla/agent';
import { ManifestWork } from '@flotilla/api/ocm';
import { type ServedResource, ServerRefusal } from '@flotilla/runtime';
import { type HubWriter, ignoreGone } from '../hub-writer.ts';
import type { HeapTimer, TimerHeap } from '../timer-heap.ts';
import type { SpokeFaults } from './faults.ts';
import { Lane } from './lane.ts';
import type { SpokeStore } from './spoke-store.ts';

interface WorkSurroundings {
  /** The spoke, and its namespace on the hub. */
  readonly spoke: string;
  readonly store: SpokeStore;
  readonly timers: TimerHeap;
  readonly writer: HubWriter;
  readonly random: () => number;
  /** The spoke's own clock. */
  readonly now: () => number;
  readonly latencyMs: () => number;
  readonly faults: () => SpokeFaults;
  readonly cadence?: WorkCadence | undefined;
  /** The agent knows `feedbackScrapeType: Watch`, as the stock one does in its later releases; default true. */
  readonly watches?: boolean | undefined;
  readonly pullerRole?: string | undefined;
  readonly getWork: (namespace: string, name: string) => ManifestWork | undefined;
  readonly onEvent: (type: WorkEvent, name: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Events of works, told as they happen. */
export type WorkEvent = 'work-reported' | 'work-ended';

/** The part of a simulated spoke's agent that executes ManifestWorks: the decisions of the real one, with its limit on hub writes. */
export class SimulatedWorks {
  readonly #around: WorkSurroundings;
  readonly #bucket: TokenBucket = createTokenBucket(WORK_HUB_QPS, WORK_HUB_BURST);
  readonly #memories = new Map<string, WorkMemory>();
  /** Version that the last write replaced, by the name of the work; it says nothing new. */
  readonly #replaced = new Map<string, string | undefined>();
  /** Works of which a watched object changed. */
  readonly #told = new Set<string>();
  readonly #watched = new Map<string, ReturnType<typeof watchedResources>>();
  readonly #due = new Map<string, HeapTimer>();
  readonly #lane: Lane;
  readonly #access: WorkAccess;
  /** On the spoke, so that they outlive its agent. */
  readonly #records = createMemoryRecords();

  constructor(around: WorkSurroundings) {
    this.#around = around;
    this.#lane = new Lane((name) => this.#reconcile(name), around.timers, around.onError);
    this.#access = withPullerAccount(faultyAccess(around.store, around.faults), around.pullerRole);
  }

  wake(name: string): void {
    this.#lane.add(name);
  }

  /** An object of the spoke came, changed or went: the works that watch it are told. */
  touch({ group, plural, version, kind }: ServedResource, namespace: string | undefined, name: string): void {
    const meta = { ordinal: 0, group, version, kind, resource: plural, name, namespace: namespace ?? '' };
    for (const [work, watched] of this.#watched) {
      if (!watched.some((identifier) => matchesResource(identifier, meta))) continue;
      this.#told.add(work);
      this.#lane.add(work);
    }
  }

  pause(): void {
    this.#lane.pause();
  }

  resume(): void {
    this.#lane.resume();
  }

  /** Forgets what it did: everything is applied again when it is looked at. */
  restart(): void {
    this.#memories.clear();
  }

  stop(): void {
    this.#lane.stop();
  }

  async #reconcile(name: string): Promise<void> {
    const { spoke, timers, getWork } = this.#around;
    if (!getWork(spoke, name)) return this.#forget(name);
    await timers.pause(this.#around.latencyMs());
    const work = getWork(spoke, name);
    if (!work) return this.#forget(name);
    // Our own write is on its way here, and wakes this work.
    if (this.#replaced.get(name) === work.metadata.resourceVersion) return;
    if (this.#around.watches !== false) this.#watched.set(name, watchedResources(work));
    const isTold = this.#told.delete(name);
    try {
      await this.#carryOut(work, isTold);
    } catch (error) {
      if (isTold) this.#told.add(name);
      throw error;
    }
  }

  async #carryOut(work: ManifestWork, isTold: boolean): Promise<void> {
    const { name } = work.metadata;
    const { now, random, cadence = DEFAULT_WORK_CADENCE } = this.#around;
    const spoke = { objects: this.#access, records: this.#records };
    const pass = await passWork(work, this.#memories.get(name), spoke, { nowMs: now(), random: random(), cadence, isTold });
    if (pass.finalizers) {
      await this.#write(work, { finalizers: pass.finalizers }, {});
      if (work.metadata.deletionTimestamp) this.#around.onEvent('work-ended', name);
    }
    if (pass.status) {
      await this.#write(work, {}, { status: pass.status });
      this.#around.onEvent('work-reported', name);
    }
    if (pass.memory) this.#memories.set(name, pass.memory);
    else this.#memories.delete(name);
    this.#requeue(name, pass.requeueAfterMs);
  }

  /** Compare-and-swap with the version that was looked at, as the agent's write. */
  async #write(work: ManifestWork, metadata: { finalizers?: string[] }, change: { status?: WorkStatus }): Promise<void> {
    const { timers, writer } = this.#around;
    await timers.pause(this.#bucket.reserve(timers.now()));
    const { name, namespace, resourceVersion } = work.metadata;
    const patch = { metadata: { ...metadata, resourceVersion }, ...change };
    const subresource = change.status && 'status';
    const answer = await writer
      .run((hub) => hub.patch(ManifestWork, { name, namespace }, patch, { type: 'merge', subresource }))
      .catch(ignoreGone);
    if (answer && answer.metadata.resourceVersion !== resourceVersion) this.#replaced.set(name, resourceVersion);
  }

  #requeue(name: string, afterMs: number | undefined): void {
    this.#due.get(name)?.[Symbol.dispose]();
    this.#due.delete(name);
    if (afterMs === undefined) return;
    const timer = this.#around.timers.after(afterMs, () => {
      this.#due.delete(name);
      this.#lane.add(name);
    });
    this.#due.set(name, timer);
  }

  #forget(name: string): void {
    this.#memories.delete(name);
    this.#replaced.delete(name);
    this.#watched.delete(name);
    this.#told.delete(name);
    this.#requeue(name, undefined);
  }
}

/** The store, and what is made to go wrong with works. */
function faultyAccess(store: SpokeStore, faults: () => SpokeFaults): WorkAccess {
  const check = (): void => {
    const { failWork } = faults();
    if (failWork) throw new ServerRefusal(typeof failWork === 'string' ? failWork : 'injected fault');
  };
  return {
    findKind: (apiVersion, kind) => store.findKind(apiVersion, kind),
    findResource: (spelling) => store.findResource(spelling),
    find: async (...where) => (faults().workNeverAvailable ? undefined : store.find(...where)),
    async create(...what) {
      check();
      return store.create(...what);
    },
    async apply(...what) {
      check();
      return store.apply(...what);
    },
    mergePatch: (...what) => store.mergePatch(...what),
    deleteExactly: (...what) => store.deleteExactly(...what),
  };
}
