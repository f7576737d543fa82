/** Plans the effects of a job's machine by one ManifestWork: its creation starts the job, its deletion makes the agent clean the spoke. Pure. */
import { Annotation, type KubeObject } from '@flotilla/api';
import { MAX_WORK_BYTES, ManifestWork } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import type { ActionsSpoke } from '../actions/observe.ts';
import { ActionsEffects } from '../actions/plan.ts';
import { capMark, capOf, capPatch, NO_CAP_MARK } from '../port/cap.ts';
import { createdAt, endWork, isAnswered, isLeaving, UNANSWERED_MS } from '../port/ending-work.ts';
import type { SpokeEffects, SpokeObservation, SpokePlan, SpokeTask } from '../port/port.ts';
import { type Attempt, buildJobWork, frozenConfigs, frozenMark, isFrozen, workSpec } from './manifest-work.ts';
import { lossesOf } from './observe.ts';

/** Hub objects of one spoke. */
interface WorkSpoke {
  readonly observed: SpokeObservation;
  readonly work: ManifestWork | undefined;
  readonly other: ManifestWork | undefined;
  /** The same spoke by actions: they clear another attempt's objects, and replace a work that no agent answers. */
  readonly actions: ActionsSpoke;
  /** The cluster does not belong to this hub any more. */
  readonly isDetached: boolean;
  /** Use actions when no agent answers. */
  readonly mayFallBack: boolean;
}

type BuiltWork = KubeObject & { readonly spec: Record<string, unknown> };

/** Delays before a vanished job is created again: 1, 2, 4, … s. */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000, floor: 1 };

/** Implements `SpokeEffects` by one ManifestWork. */
export class WorkEffects implements SpokeEffects {
  readonly #task: SpokeTask;
  readonly #spoke: WorkSpoke;
  readonly #plan: SpokePlan;
  readonly #actions: ActionsEffects;

  constructor(task: SpokeTask, spoke: WorkSpoke, state: string, plan: SpokePlan) {
    this.#task = task;
    this.#spoke = spoke;
    this.#plan = plan;
    this.#actions = new ActionsEffects(task, spoke.actions, state, plan);
  }

  /** Creates the work, which begins the job too: its feedback tells the owner of the namespace. */
  look(): void {
    const { work, other, observed } = this.#spoke;
    if (work && isLeaving(work)) return this.#end(work);
    if (other || (work && isFrozen(work))) return;
    if (work) this.#keepCap(work);
    if (work) return this.#awaitAnswer(work);
    // A work for an absent cluster would run on its return.
    if (observed.available) this.#begin();
  }

  /** Removes an earlier attempt's objects with its work, or by actions where there is no work. */
  clear(): void {
    const { work, other, observed } = this.#spoke;
    if (other) this.#end(other);
    if (work && (isFrozen(work) || isLeaving(work))) this.#end(work);
    const answer = observed.namespace?.answer;
    const isGoing = answer?.kind === 'found' && answer.object.metadata.deletionTimestamp !== undefined;
    if (work && !isFrozen(work) && !isLeaving(work) && !isGoing) this.#actions.clear();
  }

  /** Patches an unanswered work with the new spec: without an agent nobody could remove it. */
  startOver(): void {
    const { work } = this.#spoke;
    if (!work || isLeaving(work) || isFrozen(work) || isAnswered(work)) return this.remove();
    const { metadata, spec } = this.#build(this.#newAttempt());
    const { resourceVersion } = work.metadata;
    this.#patch(work, { metadata: { resourceVersion, annotations: { ...NO_CAP_MARK, ...metadata.annotations } }, spec });
  }

  /** Ensures the work, and recreates a job that vanished from the spoke. */
  ensure(): void {
    const { work, observed } = this.#spoke;
    if (!work || isLeaving(work) || observed.job?.answer.kind !== 'absent') return this.look();
    const losses = lossesOf(work);
    const dueAt = createdAt(work) + lostFor(losses);
    if (this.#plan.now < dueAt) return this.#plan.requeue(dueAt);
    // A changed manifest makes any agent apply at once; otherwise it would after minutes.
    const attempt = { id: work.metadata.annotations?.[Annotation.attempt] ?? '', losses: losses + 1 };
    const { metadata, spec } = this.#build(attempt);
    this.#patch(work, { metadata: { annotations: { ...NO_CAP_MARK, ...metadata.annotations } }, spec });
  }

  watch(): void {
    this.look();
  }

  /** Deletes the work; the agent cleans the spoke first. An existing work is record enough of an unclean spoke. */
  remove(): void {
    const { work } = this.#spoke;
    if (work) this.#end(work);
    this.#dropActions();
  }

  /** Freezes a failed job's work, so that users can examine the job. Nothing of it is created again, and all of it goes with the work. */
  forget(): void {
    const { work } = this.#spoke;
    if (work && !isLeaving(work) && !isFrozen(work)) {
      if (isAnswered(work)) this.#freeze(work);
      else this.#end(work);
    }
    this.#dropActions();
  }

  clean(): boolean {
    const { work } = this.#spoke;
    this.remove();
    return work === undefined;
  }

  remember(): void {
    this.remove();
  }

  drop(): void {
    this.remove();
  }

  #begin(): void {
    const work = this.#build(this.#newAttempt());
    const bytes = Buffer.byteLength(JSON.stringify(work.spec));
    // No hub accepts a larger work.
    if (bytes > MAX_WORK_BYTES) return this.#actions.fallBack(`a work of ${bytes} bytes is more than the ${MAX_WORK_BYTES} allowed`);
    this.#plan.add({ verb: 'create', kind: ManifestWork, object: work });
  }

  /** Writes a cap that has changed into the ConfigMap alone: the other manifests may be others by now, and what runs keeps those it has. */
  #keepCap(work: ManifestWork): void {
    const bytesPerSecond = this.#task.workload.findCap?.();
    if (capOf(work)?.bytesPerSecond === bytesPerSecond) return;
    const patch = capPatch(work, bytesPerSecond, this.#plan.now);
    const { namespace, name } = work.metadata;
    if (patch) this.#plan.add({ verb: 'patch', kind: ManifestWork, ref: { namespace, name }, patch, says: `cap ${bytesPerSecond}` });
  }

  #awaitAnswer(work: ManifestWork): void {
    const { observed, mayFallBack } = this.#spoke;
    if (isAnswered(work) || !observed.available) return;
    const lateAt = createdAt(work) + UNANSWERED_MS;
    if (this.#plan.now < lateAt) return this.#plan.requeue(lateAt);
    if (mayFallBack) this.#actions.fallBack(`no work agent of the cluster has answered for ${UNANSWERED_MS / 1000} s`);
  }

  #newAttempt(): Attempt {
    return { id: attemptOf(this.#task.upgrade.uid, this.#plan.now), losses: 0 };
  }

  #build(attempt: Attempt): BuiltWork {
    const { manifests, findCap } = this.#task.workload;
    const parts = { manifests: manifests(), attempt, cap: capMark(findCap?.(), this.#plan.now) };
    return { ...buildJobWork(this.#task, parts), spec: workSpec(this.#task, parts) };
  }

  #freeze(work: ManifestWork): void {
    const manifestConfigs = frozenConfigs(this.#task.workload.manifests());
    this.#patch(work, { metadata: { annotations: frozenMark }, spec: { manifestConfigs } });
  }

  /** The uid keeps the patch from another work of the same name. */
  #patch({ metadata }: ManifestWork, change: { metadata: Record<string, unknown>; spec: Record<string, unknown> }): void {
    const patch = { ...change, metadata: { ...change.metadata, uid: metadata.uid } };
    const { namespace, name } = metadata;
    this.#plan.add({ verb: 'patch', kind: ManifestWork, ref: { namespace, name }, patch });
  }

  #end(work: ManifestWork): void {
    const { observed, isDetached } = this.#spoke;
    endWork(this.#plan, work, { available: observed.available, isDetached });
  }

  #dropActions(): void {
    if (this.#spoke.actions.actions.size > 0) this.#actions.drop();
  }
}

/** Builds an id that is unique per spoke across all attempts. */
const attemptOf = (upgradeUid: string, nowMs: number): string => `${upgradeUid.slice(0, 8)}-${nowMs.toString(36)}`;

/** Milliseconds from the work's creation to the next try: the sum of all pauses so far. */
const lostFor = (losses: number): number =>
  Array.from({ length: losses + 1 }, (_, at) => backOffMs(BACK_OFF, at + 1)).reduce((a, b) => a + b, 0);
