import { type ApplyPlan, type Manifest, PassEndedError, runGraph, type TaskNode, textOfTask, type UpdateError } from '@flotilla/release';
import { backOffMs, type Clock, type Logger } from '@flotilla/runtime';
import type { LiveObject } from '../cluster/live-object.ts';
import type { Wakeups } from '../cluster/wakeups.ts';
import type { Wanted } from '../payload/wanted.ts';
import type { Held } from './held.ts';
import { type StepPurpose, type StepTools, stepManifest } from './manifest-step.ts';
import { countsAtMs, failsAtMs, failureOf, type HeldManifest, type PassMoment, toldOf } from './pass-failure.ts';
import { podSelectorOf, readPodTrouble } from './pod-trouble.ts';
import { precreateOperator } from './precreate.ts';
import { RefusalLog, Reports } from './reports.ts';

interface PassOptions {
  readonly plan: ApplyPlan;
  /** The manifest as it is compared; undefined for one that this cluster leaves out for now. */
  readonly wantedOf: (manifest: Manifest) => Wanted | undefined;
  readonly purpose: StepPurpose;
  readonly tools: StepTools;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onProgress: () => void;
  /** The pass over the same release before this one: what it told of is told until it is looked at again. */
  readonly previous?: Pass | undefined;
}

const RETRY = { baseMs: 500, maxMs: 30_000 };
/** An awaited object is looked at so often even when no watch tells of it, and its pods are asked so often, milliseconds. */
const LOOK_AGAIN_MS = 30_000;

/**
 * One pass over a release. What is held up is waited for in its place: its node goes on as soon as its object does, those behind it wait,
 * all others go on.
 */
export class Pass {
  /** Manifests, not objects: a release may have an object in several files. */
  readonly done = new Set<Manifest>();
  /** First look at each ClusterOperator; without those that have arrived and are as they should be. */
  readonly operatorStarts = new Map<string, number>();
  readonly #options: Omit<PassOptions, 'previous'>;
  readonly #held = new Map<Manifest, HeldManifest>();
  readonly #reports: Reports;
  readonly #refusals: RefusalLog;
  readonly #ahead = new Map<Manifest, Promise<unknown>>();
  /** Last question for the pods of each object. */
  readonly #askedMs = new Map<string, number>();
  #lastDoneMs: number;

  constructor({ previous, ...options }: PassOptions) {
    this.#options = options;
    this.#lastDoneMs = options.clock.now();
    const { purpose, tools, wantedOf, wakeups, onProgress, logger } = options;
    this.#refusals = previous ? previous.#refusals : new RefusalLog(logger);
    this.#reports = new Reports({
      look: (task, manifest) => {
        const wanted = wantedOf(manifest);
        return wanted && stepManifest(task, wanted, purpose, tools);
      },
      wakeups,
      refusals: this.#refusals,
      onChange: onProgress,
      onEnd: ({ name }) => void this.operatorStarts.delete(name),
      previous: previous ? previous.#reports : undefined,
    });
    for (const [{ name }] of this.#reports.entries()) {
      const startMs = previous?.operatorStarts.get(name);
      if (startMs !== undefined) this.operatorStarts.set(name, startMs);
    }
  }

  /** Resolves when everything is done: true; false when the signal aborted before. */
  async run(signal: AbortSignal): Promise<boolean> {
    const { plan, purpose, tools } = this.#options;
    if (purpose.state === 'Initializing' && !tools.writer.isObserving) this.#defineAhead();
    const over = new AbortController();
    const during = AbortSignal.any([signal, over.signal]);
    const errors = await runGraph(plan.nodes, (node) => this.#runNode(node, during), { workers: plan.nodes.length, signal });
    over.abort(new Error('the pass is over'));
    await this.#reports.followed();
    const unforeseen = errors.find((error) => !(error instanceof PassEndedError) && !signal.aborted);
    if (unforeseen) throw unforeseen;
    return !signal.aborted && errors.length === 0;
  }

  /** Keys of what holds nothing up and is told all the same. */
  get reportedKeys(): readonly string[] {
    return this.#reports.keys();
  }

  /** Looks again at what is told. False when one of them is to be waited for by now. */
  review(): Promise<boolean> {
    return this.#reports.review();
  }

  /** The one error that tells why the pass is not done yet. */
  failure(): UpdateError | undefined {
    return failureOf([...this.#held.values()], this.#reports.list(), this.#moment());
  }

  /** Next time at which time alone makes a failure of a held manifest, milliseconds since the epoch. */
  get failsAtMs(): number | undefined {
    return failsAtMs([...this.#held.values()], this.#moment());
  }

  #moment(): PassMoment {
    const { clock, purpose } = this.#options;
    const { state } = purpose;
    const [isInstalling, isReconciling] = [state === 'Initializing', state === 'Reconciling'];
    return { isInstalling, isReconciling, lastDoneMs: this.#lastDoneMs, nowMs: clock.now() };
  }

  /**
   * Makes all definitions at once: a server takes seconds to serve what they bring, one after the other, and in their turn each would hold up
   * what comes after it. Those that most objects wait for are first. Whether they are there is looked at in their turn.
   */
  #defineAhead(): void {
    const { plan, purpose, tools, wantedOf } = this.#options;
    const applied = plan.nodes.flatMap(({ tasks }) => tasks).map((task) => ({ task, wanted: wantedOf(task.manifest) }));
    const objects = Map.groupBy(applied, ({ wanted }) => wanted?.kindKey);
    const uses = (wanted: Wanted): number => wanted.defines.reduce((sum, kindKey) => sum + (objects.get(kindKey)?.length ?? 0), 0);
    const definitions = applied.flatMap(({ task, wanted }) =>
      wanted && task.manifest.kind === 'CustomResourceDefinition' ? [{ task, wanted, uses: uses(wanted) }] : [],
    );
    for (const { task, wanted } of definitions.sort((one, other) => other.uses - one.uses))
      this.#ahead.set(task.manifest, stepManifest(textOfTask(task), wanted, purpose, tools));
  }

  async #runNode(node: TaskNode, signal: AbortSignal): Promise<void> {
    await this.#precreate(node);
    for (const task of node.tasks) {
      if (signal.aborted) throw new PassEndedError('canceled', { done: this.done.size, total: task.total });
      const wanted = this.#options.wantedOf(task.manifest);
      if (wanted) await this.#finish(textOfTask(task), wanted, signal);
    }
  }

  /** Everyone may look for an operator's related objects before the operator runs. Best effort. */
  async #precreate({ tasks }: TaskNode): Promise<void> {
    const { wantedOf, tools, purpose, logger } = this.#options;
    for (const { manifest } of tasks) {
      const wanted = wantedOf(manifest);
      if (!wanted?.expected) continue;
      this.#begin(wanted.expected.name);
      await precreateOperator(wanted, wanted.expected, purpose, tools).catch((err: unknown) =>
        logger.info({ err, clusterOperator: manifest.name }, 'Creating a ClusterOperator ahead failed'),
      );
    }
  }

  #begin(operator: string): void {
    if (!this.operatorStarts.has(operator)) this.operatorStarts.set(operator, this.#options.clock.now());
  }

  async #finish(task: string, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const { manifest } = wanted;
    await this.#ahead.get(manifest);
    for (let tries = 1; ; ) {
      const end = await this.#step(task, wanted, signal, tries);
      if (end === 'done') break;
      // something has changed: what failed before says little about what comes
      tries = end === 'woken' ? 1 : tries + 1;
      if (signal.aborted) throw new PassEndedError('canceled', { done: this.done.size, total: 0 });
    }
    this.#held.delete(manifest);
    this.done.add(manifest);
    this.#lastDoneMs = this.#options.clock.now();
    if (this.#reports.has(manifest)) this.#reports.follow(manifest, signal);
    else if (wanted.expected) this.operatorStarts.delete(wanted.expected.name);
    this.#options.onProgress();
  }

  /** Looks at a manifest, and waits for it where it is not done. */
  async #step(task: string, wanted: Wanted, signal: AbortSignal, tries: number): Promise<'done' | 'woken' | 'again'> {
    const { tools, purpose, wakeups } = this.#options;
    const { manifest } = wanted;
    // before the look: a change while it is under way counts
    using listening = wakeups.listen([wanted.key]);
    const end = await stepManifest(task, wanted, purpose, tools);
    if (end.done) {
      if (end.reported) this.#reports.set({ error: end.reported, wanted, task });
      else this.#reports.end(manifest);
      return 'done';
    }
    if (signal.aborted) return 'again';
    this.#reports.forget(manifest);
    this.#hold(task, manifest, end.held);
    using alsoFor = wakeups.listen(end.held.wakes.filter((key) => key !== wanted.key));
    const waitMs = end.held.why === 'trouble' ? backOffMs(RETRY, tries) : LOOK_AGAIN_MS;
    const woken = new AbortController();
    const until = AbortSignal.any([signal, woken.signal]);
    const asking = this.#askPods(wanted, tools.live.get(wanted), until);
    await Promise.race([listening.after(waitMs, until), alsoFor.after(waitMs, until)]);
    woken.abort();
    await asking;
    return listening.isWoken || alsoFor.isWoken ? 'woken' : 'again';
  }

  /** Remembers what holds a manifest up, and tells of it. */
  #hold(task: string, manifest: Manifest, held: Held): void {
    const { clock, logger, onProgress } = this.#options;
    const nowMs = clock.now();
    const before = this.#held.get(manifest);
    const isSame = before?.error.message === held.error.message;
    const sinceMs = before?.sinceMs ?? nowMs;
    const now = {
      ...held,
      manifest,
      sinceMs,
      unchangedSinceMs: before && isSame ? before.unchangedSinceMs : nowMs,
      pod: isSame ? before?.pod : undefined,
    };
    this.#held.set(manifest, now);
    const told = toldOf(now, nowMs);
    if (told.effect !== 'None' && countsAtMs(now, this.#moment()) <= nowMs) this.#refusals.tell(manifest, task, told);
    if (isSame) return;
    logger.debug({ manifest: task, reason: held.error.reason, said: held.error.message }, 'Waiting for a manifest');
    onProgress();
  }

  /** Asks the pods of a workload that has got no further for a while, or cannot, why that is. Best effort. */
  async #askPods({ key, manifest }: Wanted, object: LiveObject | undefined, signal: AbortSignal): Promise<void> {
    const { tools, clock, logger, onProgress } = this.#options;
    const [held, nowMs] = [this.#held.get(manifest), clock.now()];
    const selector = podSelectorOf(object);
    if (!held || !object || !selector || held.why === 'trouble') return;
    if (held.why === 'waiting' && nowMs - held.unchangedSinceMs < LOOK_AGAIN_MS) return;
    if (nowMs - (this.#askedMs.get(key) ?? Number.NEGATIVE_INFINITY) < LOOK_AGAIN_MS) return;
    this.#askedMs.set(key, nowMs);
    try {
      const pod = await readPodTrouble(object.metadata.namespace ?? '', selector, { ...tools, signal });
      const current = this.#held.get(manifest);
      if (!current || current.pod === pod) return;
      this.#held.set(manifest, { ...current, pod });
      onProgress();
    } catch (err) {
      if (!signal.aborted) logger.debug({ err, object: key }, 'Asking for the pods of a workload failed');
    }
  }
}
