import { type ApplyPlan, type Manifest, PassEndedError, runGraph, type TaskNode, textOfTask, type UpdateError } from '@flotilla/release';
import { backOffMs, type Clock, type Logger } from '@flotilla/runtime';
import type { Wakeups } from '../cluster/wakeups.ts';
import type { Wanted } from '../payload/wanted.ts';
import { type StepPurpose, type StepTools, stepManifest } from './manifest-step.ts';
import { failsAtMs, failureOf, type HeldManifest, type PassMoment } from './pass-failure.ts';
import { precreateOperator } from './precreate.ts';

/** What a pass works with. */
export interface PassOptions {
  readonly plan: ApplyPlan;
  /** The manifest as it is compared; undefined for one that this cluster leaves out for now. */
  readonly wantedOf: (manifest: Manifest) => Wanted | undefined;
  readonly purpose: StepPurpose;
  readonly tools: StepTools;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when something is done, held up or goes on. */
  readonly onProgress: () => void;
}

const RETRY = { baseMs: 500, maxMs: 30_000 };
/** What is waited for is looked at so often even when no watch tells of it, milliseconds. */
const LOOK_AGAIN_MS = 30_000;

/**
 * One pass over a release. What is held up is waited for in its place: its node goes on as soon as its object does, those behind it wait,
 * all others go on.
 */
export class Pass {
  /** Keys of what is done. */
  readonly done = new Set<string>();
  /** When each ClusterOperator was first looked at; without those that have arrived. */
  readonly operatorStarts = new Map<string, number>();
  readonly #options: PassOptions;
  readonly #held = new Map<string, HeldManifest>();
  readonly #reported = new Map<string, { readonly error: UpdateError; readonly manifest: Manifest; readonly task: string }>();
  /** Definitions that are made before their turn. */
  readonly #ahead = new Map<string, Promise<unknown>>();
  #lastDoneMs: number;

  constructor(options: PassOptions) {
    this.#options = options;
    this.#lastDoneMs = options.clock.now();
  }

  /** Resolves when everything is done: true; false when the signal aborted before. */
  async run(signal: AbortSignal): Promise<boolean> {
    const { plan, purpose, tools } = this.#options;
    if (purpose.state === 'Initializing' && !tools.writer.isObserving) this.#defineAhead();
    const errors = await runGraph(plan.nodes, (node) => this.#runNode(node, signal), { workers: plan.nodes.length, signal });
    const unforeseen = errors.find((error) => !(error instanceof PassEndedError) && !signal.aborted);
    if (unforeseen) throw unforeseen;
    return !signal.aborted && errors.length === 0;
  }

  /** Keys of what holds nothing up and is told all the same. */
  get reportedKeys(): readonly string[] {
    return [...this.#reported.keys()];
  }

  /** Looks again at what is told. False when one of them is to be waited for by now. */
  async review(): Promise<boolean> {
    const { wantedOf, purpose, tools, onProgress } = this.#options;
    for (const [key, { manifest, task, error }] of [...this.#reported]) {
      const wanted = wantedOf(manifest);
      const end = wanted ? await stepManifest(task, wanted, purpose, tools) : undefined;
      if (end?.done === false) return false;
      if (end?.reported) this.#reported.set(key, { error: end.reported, manifest, task });
      else this.#reported.delete(key);
      if (end?.reported?.message !== error.message) onProgress();
    }
    return true;
  }

  /** The one error that tells why the pass is not done yet. */
  failure(): UpdateError | undefined {
    return failureOf([...this.#held.values()], [...this.#reported.values()], this.#moment());
  }

  /** When time alone makes a failure of what is held up, milliseconds since the epoch. */
  get failsAtMs(): number | undefined {
    return failsAtMs([...this.#held.values()], this.#moment());
  }

  #moment(): PassMoment {
    const { clock, purpose } = this.#options;
    return { isInstalling: purpose.state === 'Initializing', lastDoneMs: this.#lastDoneMs, nowMs: clock.now() };
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
      this.#ahead.set(wanted.key, stepManifest(textOfTask(task), wanted, purpose, tools));
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
    await this.#ahead.get(wanted.key);
    for (let tries = 1; ; ) {
      const end = await this.#step(task, wanted, signal, tries);
      if (end === 'done') break;
      // something has changed: what failed before says little about what comes
      tries = end === 'woken' ? 1 : tries + 1;
      if (signal.aborted) throw new PassEndedError('canceled', { done: this.done.size, total: 0 });
    }
    this.#held.delete(wanted.key);
    this.done.add(wanted.key);
    this.#lastDoneMs = this.#options.clock.now();
    if (wanted.expected) this.operatorStarts.delete(wanted.expected.name);
    this.#options.onProgress();
  }

  /** Looks at a manifest, and waits for it where it is not done. */
  async #step(task: string, wanted: Wanted, signal: AbortSignal, tries: number): Promise<'done' | 'woken' | 'again'> {
    const { tools, purpose, wakeups, clock, logger, onProgress } = this.#options;
    // before the look: a change while it is under way counts
    using listening = wakeups.listen([wanted.key]);
    const end = await stepManifest(task, wanted, purpose, tools);
    if (end.done) {
      if (end.reported) this.#reported.set(wanted.key, { error: end.reported, manifest: wanted.manifest, task });
      return 'done';
    }
    if (signal.aborted) return 'again';
    const { held } = end;
    const before = this.#held.get(wanted.key);
    this.#held.set(wanted.key, { ...held, manifest: wanted.manifest, sinceMs: before?.sinceMs ?? clock.now() });
    if (before?.error.message !== held.error.message) {
      logger.debug({ manifest: task, reason: held.error.reason, err: held.error }, 'Waiting for a manifest');
      onProgress();
    }
    using alsoFor = wakeups.listen(held.wakes.filter((key) => key !== wanted.key));
    const waitMs = held.why === 'trouble' ? backOffMs(RETRY, tries) : LOOK_AGAIN_MS;
    const woken = new AbortController();
    const until = AbortSignal.any([signal, woken.signal]);
    await Promise.race([listening.after(waitMs, until), alsoFor.after(waitMs, until)]);
    woken.abort();
    return listening.isWoken || alsoFor.isWoken ? 'woken' : 'again';
  }
}
