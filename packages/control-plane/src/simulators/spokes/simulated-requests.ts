import {
  type AgentEvent,
  createTokenBucket,
  reconcileAction,
  reconcileView,
  type SpokeAccess,
  type TokenBucket,
  withPullerAccount,
} from '@flotilla/agent';
import { ManagedClusterView } from '@flotilla/api/ocm';
import { ServerRefusal } from '@flotilla/runtime';
import type { HeapTimer } from '../timer-heap.ts';
import { Lane, UNHEARD } from './lane.ts';
import { wholeView } from './lean-objects.ts';
import type { SpokeStore } from './spoke-store.ts';
import type { AgentPart } from './surroundings.ts';
import { unreachableAccess } from './unreachable-access.ts';

/** The part of a simulated spoke's agent for actions and views: one worker for each kind, and the stock agent's limit on hub writes over both. */
export class SimulatedRequests {
  readonly actions: Lane;
  readonly views: Lane;
  readonly #part: AgentPart;
  readonly #bucket: TokenBucket = createTokenBucket();
  /** Timer of each view that is due again. */
  readonly #due = new Map<string, HeapTimer>();
  /** Last result that each view was given; caches have a trace of it. */
  readonly #results = new Map<string, unknown>();
  readonly #frozen = new Set<string>();
  readonly #failedActions = new Map<string, number>();

  constructor(part: AgentPart) {
    this.#part = part;
    const { around, onError } = part;
    this.actions = new Lane((key) => this.#reconcileAction(key), around.timers, onError);
    this.views = new Lane((key) => this.#reconcileView(key), around.timers, onError);
  }

  pause(): void {
    this.actions.pause();
    this.views.pause();
  }

  resume(): void {
    this.actions.resume();
    this.views.resume();
  }

  stop(): void {
    this.actions.stop();
    this.views.stop();
  }

  async #reconcileAction(name: string): Promise<void> {
    const { spoke, latencyMs, onEvent } = this.#part;
    const { timers, writer, getAction } = this.#part.around;
    if (!getAction(spoke, name)) return;
    await timers.pause(latencyMs());
    const deps = {
      hub: writer,
      spoke: this.#accessFor(name),
      clock: timers,
      limit: () => this.#limit(),
      get: () => getAction(spoke, name),
      onEvent: (type: AgentEvent) => onEvent(type, name),
    };
    // A conflict is thrown, so that the agent starts over.
    await reconcileAction(name, deps, UNHEARD);
  }

  async #reconcileView(name: string): Promise<void> {
    const { spoke, latencyMs, onEvent } = this.#part;
    const { timers, writer, getView } = this.#part.around;
    const seen = getView(spoke, name);
    if (!seen) this.#forgetView(name);
    if (!seen || this.#frozen.has(viewKey(seen))) return;
    let [isRead, result]: [boolean, Awaited<ReturnType<SpokeAccess['get']>> | undefined] = [false, undefined];
    const { requeueAfterMs } = await reconcileView(
      name,
      {
        hub: writer,
        spoke: {
          ...this.#access(),
          get: async (...where) => {
            await timers.pause(latencyMs());
            result = await this.#access().get(...where);
            return result;
          },
        },
        clock: timers,
        limit: () => this.#limit(),
        get: () => wholeView(seen, this.#results.get(name)),
        onEvent: (type) => {
          isRead = true;
          if (type === 'view-reported' && result) this.#results.set(name, result);
          onEvent(type, name);
        },
      },
      UNHEARD,
    );
    this.#requeue(name, requeueAfterMs);
    if (isRead) await this.#loseView(seen);
  }

  async #limit(): Promise<void> {
    const { timers } = this.#part.around;
    const ms = this.#bucket.reserve(timers.now());
    if (ms > 0) await timers.pause(ms);
  }

  async #loseView(view: ManagedClusterView): Promise<void> {
    const { lostView } = this.#part.faults();
    if (lostView?.name !== view.metadata.name) return;
    this.#frozen.add(viewKey(view));
    this.#forgetView(view.metadata.name);
    if (lostView.how === 'frozen') return;
    this.#part.onLost();
    await this.#part.around.writer.delete(ManagedClusterView, view.metadata, { uid: view.metadata.uid });
  }

  #requeue(name: string, afterMs: number | undefined): void {
    const pending = this.#due.get(name);
    if (afterMs === undefined || (pending && pending.atMs <= this.#part.around.timers.now() + afterMs)) return;
    pending?.[Symbol.dispose]();
    const timer = this.#part.around.timers.after(afterMs, () => {
      this.#due.delete(name);
      this.views.add(name);
    });
    this.#due.set(name, timer);
  }

  #forgetView(name: string): void {
    this.#due.get(name)?.[Symbol.dispose]();
    this.#due.delete(name);
    this.#results.delete(name);
  }

  #access(): SpokeAccess {
    const { store, around, faults } = this.#part;
    return faults().apiServerDown ? unreachableAccess(store) : withPullerAccount(accessTo(store), around.pullerRole);
  }

  /** The spoke as an action of that name finds it: admission may deny its executions. */
  #accessFor(name: string): SpokeAccess {
    const access = this.#access();
    const denied = async (): Promise<never> => {
      this.#failedActions.set(name, (this.#failedActions.get(name) ?? 0) + 1);
      throw new ServerRefusal('admission webhook "deny.simulated.test" denied the request: injected fault');
    };
    const isDenied = (this.#failedActions.get(name) ?? 0) < (this.#part.faults().failActions?.[name] ?? 0);
    return isDenied ? { ...access, create: denied, mergePatch: denied, delete: denied } : access;
  }
}

const viewKey = (view: ManagedClusterView): string => view.metadata.uid ?? view.metadata.name;

const accessTo = (store: SpokeStore): SpokeAccess => ({
  findKind: (...what) => store.findKind(...what),
  findResource: (...what) => store.findResource(...what),
  get: (...where) => store.get(...where),
  create: (...what) => store.create(...what),
  mergePatch: (...what) => store.mergePatch(...what),
  delete: (...where) => store.delete(...where),
});
