import {
  type AgentHub,
  createMemoryRecords,
  createTokenBucket,
  DEFAULT_WORK_CADENCE,
  matchesResource,
  reconcileWork,
  type TokenBucket,
  WORK_HUB_BURST,
  WORK_HUB_QPS,
  type WorkAccess,
  type WorkMemory,
  watchedResources,
  withPullerAccount,
} from '@flotilla/agent';
import type { ManifestWork } from '@flotilla/api/ocm';
import { type ServedResource, ServerRefusal } from '@flotilla/runtime';
import type { HeapTimer } from '../timer-heap.ts';
import type { SpokeFaults } from './faults.ts';
import { Lane, UNHEARD } from './lane.ts';
import { besideStore } from './spoke-server.ts';
import type { AgentPart } from './surroundings.ts';

/** The part of a simulated spoke's agent that executes ManifestWorks: the decisions of the real one, with its limit on hub writes. */
export class SimulatedWorks {
  readonly #part: AgentPart;
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

  constructor(part: AgentPart) {
    this.#part = part;
    const { store, server, around, faults, onError } = part;
    this.#lane = new Lane((name) => this.#reconcile(name), around.timers, onError);
    this.#access = withPullerAccount(faultyAccess(server ? besideStore(store, server) : store, faults), around.pullerRole);
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
    const { spoke, random, onEvent } = this.#part;
    const { timers, getWork, workWatches, workCadence = DEFAULT_WORK_CADENCE } = this.#part.around;
    if (!getWork(spoke, name)) return this.#forget(name);
    await timers.pause(this.#part.latencyMs());
    const work = getWork(spoke, name);
    if (!work) return this.#forget(name);
    // Our own write is on its way here, and wakes this work.
    if (this.#replaced.get(name) === work.metadata.resourceVersion) return;
    if (workWatches !== false) this.#watched.set(name, watchedResources(work));
    const isTold = this.#told.delete(name);
    const deps = {
      hub: this.#hub(name, work),
      spoke: { objects: this.#access, records: this.#records },
      clock: timers,
      limit: () => timers.pause(this.#bucket.reserve(timers.now())),
      get: () => work,
      onEvent,
      clusterName: spoke,
      evictionGraceMs: 0,
      cadence: workCadence,
      memories: this.#memories,
      random,
      isTold,
    };
    try {
      const { requeueAfterMs } = await reconcileWork(name, deps, UNHEARD);
      this.#requeue(name, requeueAfterMs);
    } catch (error) {
      if (isTold) this.#told.add(name);
      throw error;
    }
  }

  /** The hub, by which a version is known that the last write replaced. */
  #hub(name: string, { metadata: { resourceVersion } }: ManifestWork): AgentHub {
    const { writer } = this.#part.around;
    return {
      ...writer,
      patch: async (...what) => {
        const stored = await writer.patch(...what);
        if (stored.metadata.resourceVersion !== resourceVersion) this.#replaced.set(name, resourceVersion);
        return stored;
      },
    };
  }

  #requeue(name: string, afterMs: number | undefined): void {
    this.#due.get(name)?.[Symbol.dispose]();
    this.#due.delete(name);
    if (afterMs === undefined) return;
    const timer = this.#part.around.timers.after(afterMs, () => {
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

/** The objects of the spoke, and what is made to go wrong with works. */
function faultyAccess(store: WorkAccess, faults: () => SpokeFaults): WorkAccess {
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
