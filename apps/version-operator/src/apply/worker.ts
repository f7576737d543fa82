import type { ComponentOverride } from '@flotilla/api/config';
import {
  advancePayloadWork,
  type BuildContext,
  type EnabledCapabilities,
  exclusionOf,
  type Manifest,
  type PayloadState,
  type PayloadWorkEvent,
  type PayloadWorkState,
  planApply,
  textOfObject,
  textOfTask,
  type UpdateError,
  type WorkReport,
} from '@flotilla/release';
import { type Clock, type Logger, pause } from '@flotilla/runtime';
import type { Wakeups } from '../cluster/wakeups.ts';
import type { LoadedRelease } from '../payload/release.ts';
import { doubledIn, type Wanted } from '../payload/wanted.ts';
import { taskError } from './held.ts';
import { type StepTools, stepManifest } from './manifest-step.ts';
import { Pass } from './pass.ts';

/** The release to apply to a cluster, and the choices of its administrator. */
export interface Work {
  /** Generation of the ClusterVersion that asks for it. */
  readonly generation: number;
  readonly release: LoadedRelease;
  readonly force: boolean;
  readonly overrides: readonly ComponentOverride[];
  readonly capabilities: EnabledCapabilities;
  /** State in which it begins as the first work after a start. */
  readonly firstState: PayloadState;
}

/** Identity of a work: a change of any part restarts the work (spec/cvo 4.3). */
const identityOf = ({ release, force, overrides, capabilities }: Work): string =>
  JSON.stringify([release.release.image, force, overrides, [...capabilities.enabled].sort(), [...release.featureGates].sort()]);

/** True for a Secret, which an operator that only observes has no right to read. */
const isSecret = ({ group, kind }: Manifest): boolean => group === '' && kind === 'Secret';

/** True when a manifest is applied now: its capabilities are enabled, and nobody else manages its object. */
const isApplied = (manifest: Manifest, { capabilities, overrides }: Work): boolean =>
  exclusionOf(manifest, { capabilities, overrides }) === undefined;

interface WorkerOptions {
  readonly tools: StepTools;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Settings of the cluster that go into the objects, now. */
  readonly context: () => BuildContext;
  /** True when a degraded ClusterOperator holds an update to this version up. */
  readonly degradedBlocks: (version: string) => boolean;
  /** Between two passes of a cluster that is as it should be, milliseconds. */
  readonly passEveryMs: number;
  readonly onReport: () => void;
}

/** Nodes at work at once in each state are those of the plan; so many requests are under way at once at most. */
const MOST_REQUESTS = 32;

const states: Readonly<Record<Exclude<PayloadWorkState, 'idle'>, PayloadState>> = {
  initializing: 'Initializing',
  updating: 'Updating',
  reconciling: 'Reconciling',
};
const firstEvents: Readonly<Record<PayloadState, PayloadWorkEvent>> = {
  Initializing: 'INSTALL',
  Updating: 'UPDATE',
  Reconciling: 'RECONCILE',
};

/** The worker's own part of the report. */
type Progress = Omit<WorkReport, 'acceptance'>;

/** Applies a release, pass by pass, and keeps it as it is. One at a time. */
export class PayloadWorker {
  readonly #options: WorkerOptions;
  /** As it is worked on, and as it was asked for last: they differ in nothing that matters to it. */
  #work: Work | undefined;
  #asked: Work | undefined;
  #state: PayloadWorkState = 'idle';
  #changed = new AbortController();
  #pass:
    | {
        readonly pass: Pass;
        readonly work: Work;
        readonly tracked: readonly Wanted[];
        readonly context: string;
        /** The objects of its kinds have been listed. */
        isListed: boolean;
      }
    | undefined;
  #completed = false;
  /** The error that ended the last pass, where it was no manifest. */
  #ended: UpdateError | undefined;
  #failingSinceMs: number | undefined;
  #passes = 0;
  /** The release whose doubled objects have been told. */
  #toldDoubled: LoadedRelease | undefined;
  #doneWhenComplete = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  get work(): Work | undefined {
    return this.#work;
  }

  get passes(): number {
    return this.#passes;
  }

  get state(): PayloadWorkState {
    return this.#state;
  }

  /** Takes work: what is under way ends when it is other work. */
  take(work: Work): void {
    const before = this.#work;
    this.#asked = work;
    if (before && identityOf(before) === identityOf(work)) return;
    this.#work = work;
    this.#ended = undefined;
    this.#state = advancePayloadWork(this.#state, before ? 'CHANGED' : firstEvents[work.firstState]);
    this.#completed = false;
    this.#restart();
  }

  /** Begins a pass at once when something has changed that goes into the objects. */
  lookAgain(): void {
    if (this.#pass && JSON.stringify(this.#options.context()) !== this.#pass.context) this.#restart();
  }

  /** The worker's part of the report; undefined before there is work. */
  report(): Progress | undefined {
    const work = this.#work;
    if (!work) return undefined;
    const { clock } = this.#options;
    const current = this.#pass?.work === work ? this.#pass.pass : undefined;
    const failure = current?.failure() ?? this.#ended;
    this.#failingSinceMs = failure ? (this.#failingSinceMs ?? clock.now()) : undefined;
    const { release, versionHash, verified, featureGates, manifests } = work.release;
    return {
      generation: this.#asked?.generation ?? work.generation,
      failure,
      failingSinceMs: this.#failingSinceMs,
      done: this.#completed ? this.#doneWhenComplete : (current?.done.size ?? 0),
      total: manifests.length,
      completed: this.#completed,
      reconciling: this.#state === 'reconciling',
      release,
      versionHash,
      verified,
      capabilities: this.#asked?.capabilities ?? work.capabilities,
      featureGates,
      operatorStarts: current?.operatorStarts ?? new Map(),
    };
  }

  /** Objects to delete that are on their way out, as messages name them; undefined until they have been looked for. */
  pendingDeletions(): string[] | undefined {
    return this.#pass?.isListed ? this.#pending().map(({ manifest }) => textOfObject(manifest)) : undefined;
  }

  #pending(): Wanted[] {
    const { live } = this.#options.tools;
    return (this.#pass?.tracked ?? []).filter(
      (wanted) => live.deletes(wanted) && live.get(wanted)?.metadata.deletionTimestamp !== undefined,
    );
  }

  /** Next time at which the report changes without anything happening, milliseconds since the epoch. */
  get changesAtMs(): number | undefined {
    return this.#pass?.pass.failsAtMs;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const changed = this.#changed;
      const until = AbortSignal.any([signal, changed.signal]);
      if (!this.#work) {
        await pause(clock, 60_000, until);
        continue;
      }
      const isDone = await this.#tryPass(this.#work, until);
      if (until.aborted) continue;
      await (isDone ? this.#rest(until) : pause(clock, 5_000, until));
    }
  }

  /** A pass that ends before it has come to its manifests is a failure of the release. */
  async #tryPass(work: Work, until: AbortSignal): Promise<boolean> {
    const { logger, onReport } = this.#options;
    try {
      const isDone = await this.#runPass(work, until);
      this.#ended = undefined;
      return isDone;
    } catch (err) {
      if (until.aborted) return false;
      const { version, image } = work.release.release;
      logger.error({ err, release: version }, 'A pass ended unexpectedly');
      this.#ended = taskError(`release ${version || image}`, err);
      onReport();
      return false;
    }
  }

  /** Waits for the next pass. An operator that is only told of is looked at again when it changes, so that nobody is told of it for longer. */
  async #rest(until: AbortSignal): Promise<void> {
    const { clock, passEveryMs, wakeups, onReport } = this.#options;
    const endMs = clock.now() + passEveryMs;
    for (let leftMs = passEveryMs; leftMs > 0 && !until.aborted; leftMs = endMs - clock.now()) {
      const pending = this.#pending().map(({ key }) => key);
      using listening = wakeups.listen([...(this.#pass?.pass.reportedKeys ?? []), ...pending]);
      if ((await this.#pass?.pass.review()) === false) return;
      await listening.after(leftMs, until);
      if (pending.length > 0) onReport();
    }
  }

  /**
   * Mends one object that differs from what was applied: of several manifests of it the last whose turn has come counts. One whose turn has
   * not come yet is left: false. Throws what a request fails with.
   */
  async mend(key: string): Promise<boolean> {
    const { tools, context, degradedBlocks } = this.#options;
    const { pass, work, tracked } = this.#pass ?? {};
    const wanted = tracked?.findLast((one) => one.key === key && (this.#completed || pass?.done.has(one.manifest)));
    if (!wanted || !work || work !== this.#work) return false;
    const purpose = {
      state: 'Reconciling' as const,
      context: context(),
      degradedBlocks: degradedBlocks(work.release.release.version),
    };
    const { manifest } = wanted;
    const task = textOfTask({ index: work.release.manifests.indexOf(manifest) + 1, total: work.release.manifests.length, manifest });
    const end = await stepManifest(task, wanted, purpose, tools);
    if (!end.done && end.held.why === 'trouble') throw end.held.error;
    return true;
  }

  #restart(): void {
    const before = this.#changed;
    this.#changed = new AbortController();
    before.abort();
  }

  async #runPass(work: Work, signal: AbortSignal): Promise<boolean> {
    const { tools, context, degradedBlocks, onReport, wakeups, clock, logger } = this.#options;
    if (this.#state === 'idle') return false;
    const state = states[this.#state];
    const built = context();
    const { isObserving } = tools.writer;
    const applied = work.release.manifests.filter((manifest) => isApplied(manifest, work) && !(isObserving && isSecret(manifest)));
    const wanted = applied.flatMap((manifest) => work.release.wanted.get(manifest) ?? []);
    const isIncluded = new Set(applied);
    const plan = planApply(work.release.manifests, state);
    tools.budget.width = Math.min(plan.workers, MOST_REQUESTS);
    const previous = this.#pass?.work === work ? this.#pass.pass : undefined;
    const pass = new Pass({
      previous,
      plan,
      wantedOf: (manifest) => (isIncluded.has(manifest) ? work.release.wanted.get(manifest) : undefined),
      purpose: { state, context: built, degradedBlocks: degradedBlocks(work.release.release.version) },
      tools,
      wakeups,
      clock,
      logger,
      onProgress: onReport,
    });
    const current = { pass, work, tracked: wanted, context: JSON.stringify(built), isListed: false };
    this.#pass = current;
    onReport();
    if (!this.#completed && this.#toldDoubled !== work.release) {
      this.#toldDoubled = work.release;
      for (const doubled of doubledIn(wanted))
        logger.warn(doubled, 'An object is in several files of the release, the last of them counts');
    }
    const startedMs = clock.now();
    await tools.deletions.begin(work.release.release.image);
    await tools.live.track({ wanted, context: built });
    current.isListed = true;
    if (!(await pass.run(signal)) || signal.aborted || this.#work !== work) return false;
    this.#passes++;
    const isNews = !this.#completed;
    this.#completed = true;
    this.#doneWhenComplete = pass.done.size;
    this.#state = advancePayloadWork(this.#state, 'COMPLETED');
    logger[isNews ? 'info' : 'debug'](
      { release: work.release.release.version, state, manifests: pass.done.size, ms: clock.now() - startedMs },
      'Applied the release',
    );
    onReport();
    await tools.live.readNew();
    return true;
  }
}
