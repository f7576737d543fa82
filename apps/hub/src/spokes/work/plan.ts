/** The effects of a job's machine by one ManifestWork: created, the job starts; deleted, the agent leaves the spoke clean. Pure. */
import { Annotation, type KubeObject } from '@flotilla/api';
import { MAX_WORK_BYTES, ManifestWork } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import type { ActionsSpoke } from '../actions/observe.ts';
import { ActionsEffects } from '../actions/plan.ts';
import { createdAt, endWork, isAnswered, isLeaving, UNANSWERED_MS } from '../port/ending-work.ts';
import type { SpokeEffects, SpokeObservation, SpokeTask } from '../port/port.ts';
import type { SpokePlan } from '../port/spoke-plan.ts';
import { type Attempt, buildJobWork, frozenConfigs, frozenMark, isFrozen, workSpec } from './manifest-work.ts';
import { lossesOf } from './observe.ts';

/** What is on the hub for one spoke. */
interface WorkSpoke {
  readonly seen: SpokeObservation;
  readonly work: ManifestWork | undefined;
  readonly other: ManifestWork | undefined;
  /** The same spoke by actions: they clear what somebody else left, and are what is left when nobody answers works. */
  readonly actions: ActionsSpoke;
  /** The cluster is none of this hub any more. */
  readonly isDetached: boolean;
  /** Go on by actions when no agent answers. */
  readonly mayFallBack: boolean;
}

type BuiltWork = KubeObject & { readonly spec: Record<string, unknown> };

/** A job that vanished is made again after 1, 2, 4, … s. */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000, floor: 1 };

/** See `SpokeEffects`. */
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

  /** To look and to begin are one: the work says whose the namespace is. */
  look(): void {
    const { work, other, seen } = this.#spoke;
    if (work && isLeaving(work)) return this.#end(work);
    if (other || (work && isFrozen(work))) return;
    if (work) return this.#awaitAnswer(work);
    // It would be carried out whenever the cluster returns.
    if (seen.available) this.#begin();
  }

  /** What an earlier attempt left goes with its work, or by the actions that remove it where there is none. */
  clear(): void {
    const { work, other, seen } = this.#spoke;
    if (other) this.#end(other);
    if (work && (isFrozen(work) || isLeaving(work))) this.#end(work);
    const answer = seen.namespace?.answer;
    const isGoing = answer?.kind === 'found' && answer.object.metadata.deletionTimestamp !== undefined;
    if (work && !isFrozen(work) && !isLeaving(work) && !isGoing) this.#actions.clear();
  }

  /** What no agent has seen yet carries the new spec from now on: nobody would be there to remove it. */
  startOver(): void {
    const { work } = this.#spoke;
    if (!work || isLeaving(work) || isFrozen(work) || isAnswered(work)) return this.remove();
    const { metadata, spec } = this.#build(this.#newAttempt());
    const { resourceVersion } = work.metadata;
    this.#patch(work, { metadata: { resourceVersion, annotations: metadata.annotations }, spec });
  }

  /** The work, and the job again that vanished from the spoke. */
  ensure(): void {
    const { work, seen } = this.#spoke;
    if (!work || isLeaving(work) || seen.job?.answer.kind !== 'absent') return this.look();
    const losses = lossesOf(work);
    const dueAt = createdAt(work) + lostFor(losses);
    if (this.#plan.now < dueAt) return this.#plan.wake(dueAt);
    // Another manifest of it makes any agent apply at once; by itself it would after minutes.
    const attempt = { id: work.metadata.annotations?.[Annotation.attempt] ?? '', losses: losses + 1 };
    const { metadata, spec } = this.#build(attempt);
    this.#patch(work, { metadata: { annotations: metadata.annotations }, spec });
  }

  watch(): void {
    this.look();
  }

  /** The agent removes everything before the work is gone, and a work that is not gone is all that has to be remembered. */
  remove(): void {
    const { work } = this.#spoke;
    if (work) this.#end(work);
    this.#dropActions();
  }

  /** The spoke keeps the job for whoever wants to know why it failed: nothing of it is made again, and all of it goes with the work. */
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
    // No hub takes it, whatever is wanted.
    if (bytes > MAX_WORK_BYTES) return this.#actions.fallBack(`a work of ${bytes} bytes is more than the ${MAX_WORK_BYTES} allowed`);
    this.#plan.add({ verb: 'create', kind: ManifestWork, object: work });
  }

  #awaitAnswer(work: ManifestWork): void {
    const { seen, mayFallBack } = this.#spoke;
    if (isAnswered(work) || !seen.available) return;
    const lateAt = createdAt(work) + UNANSWERED_MS;
    if (this.#plan.now < lateAt) return this.#plan.wake(lateAt);
    if (mayFallBack) this.#actions.fallBack(`no work agent of the cluster has answered for ${UNANSWERED_MS / 1000} s`);
  }

  #newAttempt(): Attempt {
    return { id: attemptOf(this.#task.upgrade.uid, this.#plan.now), losses: 0 };
  }

  #build(attempt: Attempt): BuiltWork {
    const parts = { manifests: this.#task.workload.manifests(), attempt };
    return { ...buildJobWork(this.#task, parts), spec: workSpec(this.#task, parts) };
  }

  #freeze(work: ManifestWork): void {
    const manifestConfigs = frozenConfigs(this.#task.workload.manifests());
    this.#patch(work, { metadata: { annotations: frozenMark }, spec: { manifestConfigs } });
  }

  /** Never another work of the same name. */
  #patch({ metadata }: ManifestWork, change: { metadata: Record<string, unknown>; spec: Record<string, unknown> }): void {
    const patch = { ...change, metadata: { ...change.metadata, uid: metadata.uid } };
    const { namespace, name } = metadata;
    this.#plan.add({ verb: 'patch', kind: ManifestWork, ref: { namespace, name }, patch });
  }

  #end(work: ManifestWork): void {
    const { seen, isDetached } = this.#spoke;
    endWork(this.#plan, work, { available: seen.available, isDetached });
  }

  #dropActions(): void {
    if (this.#spoke.actions.actions.size > 0) this.#actions.drop();
  }
}

/** Never the same twice for one spoke, whoever's attempt it is. */
const attemptOf = (upgradeUid: string, nowMs: number): string => `${upgradeUid.slice(0, 8)}-${nowMs.toString(36)}`;

/** After the work was made: the sum of all pauses so far. */
const lostFor = (losses: number): number =>
  Array.from({ length: losses + 1 }, (_, at) => backOffMs(BACK_OFF, at + 1)).reduce((a, b) => a + b, 0);
