/** The effects of a job's machine by one ManifestWork: created, the job starts; deleted, the agent leaves the spoke clean. */
import { Annotation, type KubeObject, Label } from '@flotilla/api';
import { MAX_WORK_BYTES, ManifestWork } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import { isAlreadyExists } from '@flotilla/runtime';
import { ActionsRun } from '../actions/effects.ts';
import type { ActionsSpoke } from '../actions/observe.ts';
import { createdAt, deleteWork, endWork, isAnswered, isLeaving, UNANSWERED_MS } from '../port/ending-work.ts';
import { HubWriter } from '../port/hub-writer.ts';
import type { EffectDeps, SpokeObservation, SpokeRun, SpokeTask } from '../port/port.ts';
import { type Attempt, buildJobWork, frozenConfigs, frozenMark, isFrozen, workSpec } from './manifest-work.ts';
import { lossesOf } from './observe.ts';

/** What is on the hub for one spoke. */
export interface WorkSpoke {
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

/** See `SpokeRun`. */
export class WorkRun implements SpokeRun {
  readonly #task: SpokeTask;
  readonly #spoke: WorkSpoke;
  readonly #writer: HubWriter;
  readonly #actions: ActionsRun;

  constructor(task: SpokeTask, spoke: WorkSpoke, state: string, deps: EffectDeps) {
    this.#task = task;
    this.#spoke = spoke;
    this.#writer = new HubWriter(deps);
    this.#actions = new ActionsRun(task, spoke.actions, state, deps);
  }

  get wakeAt(): number | undefined {
    const times = [this.#writer.wakeAt, this.#actions.wakeAt].filter((at) => at !== undefined);
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  get hasWritten(): boolean {
    return this.#writer.hasWritten || this.#actions.hasWritten;
  }

  /** To look and to begin are one: the work says whose the namespace is. */
  async look(): Promise<void> {
    const { work, other, seen } = this.#spoke;
    if (work && isLeaving(work)) return this.#end(work);
    if (other || (work && isFrozen(work))) return;
    if (work) return this.#awaitAnswer(work);
    // It would be carried out whenever the cluster returns.
    if (seen.available) await this.#begin();
  }

  /** What an earlier attempt left goes with its work, or by the actions that remove it where there is none. */
  async clear(): Promise<void> {
    const { work, other, seen } = this.#spoke;
    if (other) await this.#end(other);
    if (work && (isFrozen(work) || isLeaving(work))) await this.#end(work);
    const answer = seen.namespace?.answer;
    const isGoing = answer?.kind === 'found' && answer.object.metadata.deletionTimestamp !== undefined;
    if (work && !isFrozen(work) && !isLeaving(work) && !isGoing) await this.#actions.clear();
  }

  /** What no agent has seen yet carries the new spec from now on: nobody would be there to remove it. */
  async startOver(): Promise<void> {
    const { work } = this.#spoke;
    if (!work || isLeaving(work) || isFrozen(work) || isAnswered(work)) return this.remove();
    const { metadata, spec } = this.#build(this.#newAttempt());
    const { resourceVersion } = work.metadata;
    await this.#patch(work, { metadata: { resourceVersion, annotations: metadata.annotations }, spec });
  }

  /** The work, and the job again that vanished from the spoke. */
  async ensure(): Promise<void> {
    const { work, seen } = this.#spoke;
    if (!work || isLeaving(work) || seen.job?.answer.kind !== 'absent') return this.look();
    const losses = lossesOf(work);
    const dueAt = createdAt(work) + lostFor(losses);
    if (this.#writer.now() < dueAt) return this.#writer.wake(dueAt);
    // Another manifest of it makes any agent apply at once; by itself it would after minutes.
    const attempt = { id: work.metadata.annotations?.[Annotation.attempt] ?? '', losses: losses + 1 };
    const { metadata, spec } = this.#build(attempt);
    await this.#patch(work, { metadata: { annotations: metadata.annotations }, spec });
  }

  async watch(): Promise<void> {
    await this.look();
  }

  /** The agent removes everything before the work is gone, and a work that is not gone is all that has to be remembered. */
  async remove(): Promise<void> {
    const { work } = this.#spoke;
    if (work) await this.#end(work);
    await this.#dropActions();
  }

  /** The spoke keeps the job for whoever wants to know why it failed: nothing of it is made again, and all of it goes with the work. */
  async forget(): Promise<void> {
    const { work } = this.#spoke;
    if (work && !isLeaving(work) && !isFrozen(work)) {
      if (isAnswered(work)) await this.#freeze(work);
      else await this.#end(work);
    }
    await this.#dropActions();
  }

  async clean(): Promise<boolean> {
    const { work } = this.#spoke;
    await this.remove();
    return work === undefined;
  }

  async remember(): Promise<void> {
    await this.remove();
  }

  async drop(): Promise<void> {
    await this.remove();
  }

  async #begin(): Promise<void> {
    const work = this.#build(this.#newAttempt());
    const bytes = Buffer.byteLength(JSON.stringify(work.spec));
    // No hub takes it, whatever is wanted.
    if (bytes > MAX_WORK_BYTES) return this.#actions.fallBack(`a work of ${bytes} bytes is more than the ${MAX_WORK_BYTES} allowed`);
    await this.#create(work);
  }

  async #awaitAnswer(work: ManifestWork): Promise<void> {
    const { seen, mayFallBack } = this.#spoke;
    if (isAnswered(work) || !seen.available) return;
    const lateAt = createdAt(work) + UNANSWERED_MS;
    if (this.#writer.now() < lateAt) return this.#writer.wake(lateAt);
    if (mayFallBack) await this.#actions.fallBack(`no work agent of the cluster has answered for ${UNANSWERED_MS / 1000} s`);
  }

  #newAttempt(): Attempt {
    return { id: attemptOf(this.#task.upgrade.uid, this.#writer.now()), losses: 0 };
  }

  #build(attempt: Attempt): BuiltWork {
    const { workload } = this.#task;
    const manifests = workload.manifests();
    const parts = { manifests, attempt, reportsProgress: workload.progressViewSeconds !== undefined };
    return { ...buildJobWork(this.#task, parts), spec: workSpec(this.#task, parts) };
  }

  /** Another program's of the same name proves nothing and is replaced; another upgrade's is seen by the watch. */
  async #create(work: BuiltWork): Promise<void> {
    try {
      await this.#writer.client.create(ManifestWork, work);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const existing = await this.#writer.client.get(ManifestWork, work.metadata);
      if (!existing || existing.metadata.labels?.[Label.work] === this.#task.job.work) return;
      await deleteWork(this.#writer.client, existing);
      await this.#writer.client.create(ManifestWork, work);
    }
  }

  async #freeze(work: ManifestWork): Promise<void> {
    const manifestConfigs = frozenConfigs(this.#task.job.names, this.#task.workload.manifests());
    await this.#patch(work, { metadata: { annotations: frozenMark }, spec: { manifestConfigs } });
  }

  /** Never another work of the same name. */
  async #patch({ metadata }: ManifestWork, change: { metadata: Record<string, unknown>; spec: Record<string, unknown> }): Promise<void> {
    const patch = { ...change, metadata: { ...change.metadata, uid: metadata.uid } };
    await this.#writer.client.patch(ManifestWork, metadata, patch, { type: 'merge' });
  }

  async #end(work: ManifestWork): Promise<void> {
    const { seen, isDetached } = this.#spoke;
    await endWork(this.#writer, work, { available: seen.available, isDetached });
  }

  async #dropActions(): Promise<void> {
    if (this.#spoke.actions.actions.size > 0) await this.#actions.drop();
  }
}

/** Never the same twice for one spoke, whoever's attempt it is. */
const attemptOf = (upgradeUid: string, nowMs: number): string => `${upgradeUid.slice(0, 8)}-${nowMs.toString(36)}`;

/** After the work was made: the sum of all pauses so far. */
const lostFor = (losses: number): number =>
  Array.from({ length: losses + 1 }, (_, at) => backOffMs(BACK_OFF, at + 1)).reduce((a, b) => a + b, 0);
