import {
  actionFailed,
  createTokenBucket,
  decidePoll,
  executeAction,
  readView,
  type SpokeAccess,
  type TokenBucket,
  type WorkCadence,
  withPullerAccount,
} from '@flotilla/agent';
import { findCondition, isJsonObject, withCondition } from '@flotilla/api';
import { ACTION_COMPLETED, ManagedClusterAction, ManagedClusterView, type ManifestWork, VIEW_PROCESSING } from '@flotilla/api/ocm';
import { ApiError, type ServedResource } from '@flotilla/runtime';
import { createRandom } from '../../random.ts';
import { type HubWriter, ignoreGone } from '../hub-writer.ts';
import type { HeapTimer, TimerHeap } from '../timer-heap.ts';
import type { JobShape, SpokeFaults, WorkShape } from './faults.ts';
import { Lane } from './lane.ts';
import { type JobEvent, pullerOf, runJob } from './simulated-job.ts';
import { playControllers } from './simulated-status.ts';
import { SimulatedWorks, type WorkEvent } from './simulated-works.ts';
import { SpokeStore, type StoredObject } from './spoke-store.ts';
import { actionStatusPatch, isViewUnchanged, viewStatusPatch } from './status-patch.ts';
import { unreachableAccess } from './unreachable-access.ts';

/** One moment in the life of a simulated spoke. */
export interface SpokeEvent {
  /** Milliseconds since the epoch, by the process's clock. */
  readonly at: number;
  readonly type: JobEvent | WorkEvent | 'pods-succeeded' | 'action-executed' | 'action-failed' | 'view-read' | 'view-reported';
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

/** Parts that all spokes of a run share. */
export interface SpokeSurroundings {
  readonly timers: TimerHeap;
  readonly writer: HubWriter;
  readonly seed: number;
  readonly kinds: readonly ServedResource[];
  readonly job: JobShape;
  readonly work: WorkShape;
  readonly workCadence: WorkCadence | undefined;
  readonly workWatches: boolean | undefined;
  /** ClusterRole of the account that the agent makes for Job `pre-cache`; undefined: it makes none. */
  readonly pullerRole: string | undefined;
  readonly executeLatencyMs: number;
  readonly namespaceDeletionMs: number;
  readonly getAction: (namespace: string, name: string) => ManagedClusterAction | undefined;
  readonly getView: (namespace: string, name: string) => ManagedClusterView | undefined;
  readonly getWork: (namespace: string, name: string) => ManifestWork | undefined;
  /** An error nobody expects; the run goes on. */
  readonly onError: (error: unknown, spoke: string) => void;
}

/** One spoke: its objects, its Jobs, and its agent with one worker per kind and the stock agent's limit on hub writes. */
export class SimulatedSpoke {
  readonly name: string;
  readonly store: SpokeStore;
  readonly jobs: JobCreation[] = [];
  readonly events: SpokeEvent[] = [];
  /** Uids of the upgrades for which images are pinned. */
  readonly pins = new Set<string>();
  faults: SpokeFaults;
  readonly #around: SpokeSurroundings;
  readonly #bucket: TokenBucket = createTokenBucket();
  readonly #random: () => number;
  /** Apart, so that works do not change the run times of Jobs. */
  readonly #workRandom: () => number;
  readonly #actions: Lane;
  readonly #views: Lane;
  readonly #works: SimulatedWorks;
  /** Timer of each view that is due again. */
  readonly #due = new Map<string, HeapTimer>();
  readonly #frozen = new Set<string>();
  readonly #failedActions = new Map<string, number>();

  constructor(name: string, faults: SpokeFaults, around: SpokeSurroundings) {
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
    const onError = (error: unknown): void => around.onError(error, name);
    this.#works = new SimulatedWorks({
      spoke: name,
      store: this.store,
      timers: around.timers,
      writer: around.writer,
      random: this.#workRandom,
      now: () => this.now(),
      latencyMs: () => this.#latency(),
      faults: () => this.faults,
      cadence: around.workCadence,
      watches: around.workWatches,
      pullerRole: around.pullerRole,
      getWork: around.getWork,
      onEvent: (type, work) => this.#record({ type, name: work }),
      onError,
    });
    this.#actions = new Lane((key) => this.#reconcileAction(key), around.timers, onError);
    this.#views = new Lane((key) => this.#reconcileView(key), around.timers, onError);
    this.#seedNamespaces();
  }

  /** The spoke's own clock. */
  now(): number {
    return this.#around.timers.now();
  }

  /** An action came, changed or went. */
  wakeAction(name: string): void {
    this.#actions.add(name);
  }

  /** A view came, changed or went. */
  wakeView(name: string): void {
    this.#views.add(name);
  }

  /** A work came, changed or went. */
  wakeWork(name: string): void {
    this.#works.wake(name);
  }

  /** The agent forgets what it did. */
  restart(): void {
    this.#works.restart();
  }

  /** Out of the hub's reach until `reconnect`; what was asked meanwhile is done then. Jobs go on. */
  disconnect(): void {
    this.#actions.pause();
    this.#views.pause();
    this.#works.pause();
  }

  reconnect(): void {
    this.#actions.resume();
    this.#views.resume();
    this.#works.resume();
  }

  stop(): void {
    this.#actions.stop();
    this.#views.stop();
    this.#works.stop();
  }

  async #reconcileAction(name: string): Promise<void> {
    const { timers, writer } = this.#around;
    if (!this.#around.getAction(this.name, name)) return;
    await timers.pause(this.#latency());
    // Read again after the wait: a deleted or changed action must not run as it was.
    const action = this.#around.getAction(this.name, name);
    if (!action || findCondition(action.status?.conditions, ACTION_COMPLETED)?.status === 'True') return;
    const verdict = this.#injectedFailure(action) ?? (await executeAction(action, this.#access()));
    this.#record({ type: verdict.condition.status === 'True' ? 'action-executed' : 'action-failed', name });
    const conditions = withCondition(action.status?.conditions, verdict.condition, this.now());
    const patch = actionStatusPatch(action, conditions, verdict.result);
    if (!patch) return;
    await timers.pause(this.#bucket.reserve(timers.now()));
    // A conflict is thrown, so that the agent starts over.
    await writer
      .run((hub) => hub.patch(ManagedClusterAction, action.metadata, patch, { type: 'json', subresource: 'status' }))
      .catch(ignoreGone);
  }

  async #reconcileView(name: string): Promise<void> {
    const { timers, writer } = this.#around;
    const seen = this.#around.getView(this.name, name);
    if (!seen) this.#cancelDue(name);
    if (!seen || this.#frozen.has(viewKey(seen))) return;
    const poll = this.#decide(seen);
    this.#requeue(name, poll.requeueAfterMs);
    if (!poll.query) return;
    await timers.pause(this.#latency());
    const view = this.#around.getView(this.name, name);
    if (!view) return;
    const status = await readView(view, this.#access(), this.now());
    this.#record({ type: 'view-read', name });
    if (!isViewUnchanged(view, status)) {
      await timers.pause(this.#bucket.reserve(timers.now()));
      const patch = viewStatusPatch(view, status);
      await writer
        .run((hub) => hub.patch(ManagedClusterView, view.metadata, patch, { type: 'json', subresource: 'status' }))
        .catch(ignoreGone);
      this.#record({ type: 'view-reported', name });
    }
    await this.#loseView(view);
  }

  #decide(view: ManagedClusterView) {
    const condition = findCondition(view.status?.conditions, VIEW_PROCESSING);
    return decidePoll(
      { intervalSeconds: view.spec?.scope?.updateIntervalSeconds, lastTransitionTime: condition?.lastTransitionTime },
      this.now(),
    );
  }

  async #loseView(view: ManagedClusterView): Promise<void> {
    const { lostView } = this.faults;
    if (lostView?.name !== view.metadata.name) return;
    this.#frozen.add(viewKey(view));
    this.#cancelDue(view.metadata.name);
    if (lostView.how === 'frozen') return;
    this.faults = { ...this.faults, lostView: undefined };
    await this.#around.writer.run((hub) => hub.delete(ManagedClusterView, view.metadata, { uid: view.metadata.uid }));
  }

  #requeue(name: string, afterMs: number | undefined): void {
    const pending = this.#due.get(name);
    if (afterMs === undefined || (pending && pending.atMs <= this.#around.timers.now() + afterMs)) return;
    pending?.[Symbol.dispose]();
    const timer = this.#around.timers.after(afterMs, () => {
      this.#due.delete(name);
      this.#views.add(name);
    });
    this.#due.set(name, timer);
  }

  #cancelDue(name: string): void {
    this.#due.get(name)?.[Symbol.dispose]();
    this.#due.delete(name);
  }

  #injectedFailure(action: ManagedClusterAction) {
    const { name } = action.metadata;
    const failed = this.#failedActions.get(name) ?? 0;
    if (failed >= (this.faults.failActions?.[name] ?? 0)) return undefined;
    this.#failedActions.set(name, failed + 1);
    return actionFailed(action.spec?.actionType ?? '', 'admission webhook "deny.simulated.test" denied the request: injected fault');
  }

  #access(): SpokeAccess {
    return this.faults.apiServerDown ? unreachableAccess(this.store) : withPullerAccount(accessTo(this.store), this.#around.pullerRole);
  }

  #latency(): number {
    return this.#around.executeLatencyMs + (this.faults.latencyMs ?? 0);
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

const accessTo = (store: SpokeStore): SpokeAccess => ({
  findKind: (...what) => store.findKind(...what),
  findResource: (...what) => store.findResource(...what),
  get: (...where) => store.get(...where),
  create: (...what) => store.create(...what),
  mergePatch: (...what) => store.mergePatch(...what),
  delete: (...where) => store.delete(...where),
});

const viewKey = (view: ManagedClusterView): string => view.metadata.uid ?? view.metadata.name;

/** True for a lost race with another writer: the newer object is on its way, so start over. */
export const isLostRace = (error: unknown): boolean => error instanceof ApiError && (error.status === 409 || error.status === 422);
