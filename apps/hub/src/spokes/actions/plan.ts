/** The effects of a job's machine by actions and views: each plans only what is missing. Pure. */
import { type KubeObject, Label, type Resource } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, type ManifestWork } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import { endedAt } from '@flotilla/rollout';
import { endWork } from '../port/ending-work.ts';
import type { SpokeEffects, SpokeTask } from '../port/port.ts';
import { isRefusal, RETRY_BUDGET } from '../port/refusals.ts';
import type { SpokePlan } from '../port/spoke-plan.ts';
import type { SpokeManifest, ViewDefinition } from '../port/workload.ts';
import { deletionsDue, isCleaned, isNamespaceSeen, unconfirmedDeletions } from './cleans-first.ts';
import {
  ActionAnnotation,
  createAction,
  createLeftover,
  createView,
  type DeletionTime,
  deleteAction,
  isLeftover,
  type Tries,
  templateDigest,
  upgradeSelector,
} from './hub-objects.ts';
import type { ActionObservation, ActionsSpoke, ViewObservation } from './observe.ts';

/** A deletion on the spoke: executed, on its way, or neither: then the hub must remember it. */
type Deletion = 'done' | 'asked' | 'open';

/** A work that was tried before: nothing begins beside it. */
interface TriedWork {
  readonly work: ManifestWork;
  /** The cluster is none of this hub any more. */
  readonly isDetached: boolean;
}

/** See `SpokeEffects`. */
export class ActionsEffects implements SpokeEffects {
  readonly task: SpokeTask;
  readonly spoke: ActionsSpoke;
  readonly state: string;
  readonly #plan: SpokePlan;
  readonly #tried: TriedWork | undefined;
  #hasCleared = false;

  constructor(task: SpokeTask, spoke: ActionsSpoke, state: string, plan: SpokePlan, tried?: TriedWork) {
    this.task = task;
    this.spoke = spoke;
    this.state = state;
    this.#plan = plan;
    this.#tried = tried;
  }

  look(): void {
    if (!this.spoke.namespaceView?.ours) this.create(ManagedClusterView, this.view(this.names.views.namespace, 0));
    this.#endTried();
  }

  /** From now on the spoke is reached by actions: its view is there, and says why. */
  fallBack(why: string): void {
    const view = this.view(this.names.views.namespace, 0);
    const annotations = { ...view.metadata.annotations, [ActionAnnotation.fallback]: why };
    this.create(ManagedClusterView, { ...view, metadata: { ...view.metadata, annotations } });
  }

  #endTried(): void {
    if (!this.#tried) return;
    const { work, isDetached } = this.#tried;
    endWork(this.#plan, work, { available: this.spoke.available, isDetached });
  }

  /** Deletes an earlier attempt's namespace, and with it the ClusterRoleBinding, which would make our job's account cluster-admin. */
  clear(): void {
    if (this.#hasCleared) return;
    this.#hasCleared = true;
    const { actions, views } = this.names;
    const { cleansFirst } = this.task.job;
    const due = cleansFirst ? deletionsDue(this.task, this.spoke) : [actions.deleteNamespace, actions.deleteClusterRoleBinding];
    const deletions = new Map<string, Deletion>();
    for (const name of due) deletions.set(name, this.ensureDeleted(name, 'before'));
    const view = this.spoke.namespaceView;
    // Not before both were asked for: that they were is what the view then stands for.
    if (cleansFirst && !view?.ours) return [...deletions.values()].includes('open') ? undefined : this.look();
    const isGone = deletions.get(actions.deleteNamespace) === 'done';
    if (!isGone || !view || view.intervalSeconds === CLEANUP_POLL_SECONDS) return;
    // The first view is polled every 30 s; a namespace is gone in a few. A new view also answers at once (spec/ocm 1.12).
    this.delete(ManagedClusterView, views.namespace.name, view.uid);
    this.create(ManagedClusterView, this.view(views.namespace, CLEANUP_POLL_SECONDS));
  }

  /** Creates the actions of the workload at once and in order: the agent takes them one after the other. */
  ensure(): void {
    const { jobView, available } = this.spoke;
    const { cleansFirst } = this.task.job;
    if (this.#tried) return this.#endTried();
    if (!available || (jobView?.ours && jobView.answer.kind !== 'absent')) return;
    if (cleansFirst && !isCleaned(this.task, this.spoke)) return this.clear();
    if (cleansFirst) this.#plan.add(...unconfirmedDeletions(this.task, this.spoke));
    const { createJob } = this.names.actions;
    const jobCreated = this.spoke.actions.get(createJob)?.outcome === 'executed';
    // A view that is made together with the job says nothing before the job was made.
    const lost = jobView?.ours && (jobCreated || !cleansFirst) ? jobView : undefined;
    for (const manifest of this.task.workload.manifests()) {
      const isJob = manifest.action === createJob;
      if ((manifest.afterJob && !jobCreated) || (isJob && cleansFirst && !isNamespaceSeen(this.spoke))) continue;
      const action = this.spoke.actions.get(manifest.action);
      if (isJob && lost && action) this.recreateLostJob(manifest, action, lost);
      else this.ensureAction(manifest, action);
      if (isJob && cleansFirst && !jobView?.ours) this.watchJob();
    }
  }

  private ensureAction(manifest: SpokeManifest, action: ActionObservation | undefined): void {
    if (!action?.ours) return this.create(ManagedClusterAction, createAction(this.task, manifest));
    if (action.outcome === 'executed') return;
    if (action.outcome === 'failed') return this.retry(action, manifest.action, (tries) => createAction(this.task, manifest, tries));
    // Not executed yet: it follows the spec. A new object, because the agent freezes what it has executed (spec/ocm 1.6).
    if (action.template !== templateDigest(manifest.template)) this.recreate(action, manifest.action, createAction(this.task, manifest));
  }

  private recreateLostJob(manifest: SpokeManifest, action: ActionObservation, { uid, createdAt }: ViewObservation): void {
    const unview = () => this.delete(ManagedClusterView, this.names.views.job.name, uid);
    // A view made together with the job may have looked before the job was there.
    if (this.task.job.cleansFirst && createdAt < endedAt(action, this.#plan.now)) {
      unview();
      return this.watchJob();
    }
    this.retry(action, manifest.action, (tries) => {
      unview();
      return createAction(this.task, manifest, tries);
    });
  }

  private watchJob(): void {
    this.create(ManagedClusterView, this.view(this.names.views.job, this.task.workload.jobViewSeconds));
  }

  /** The view of the job, once the job is there: one created earlier answers `not found` and is then blind for an interval. */
  watch(): void {
    const { jobView, actions } = this.spoke;
    // A spoke that is Active has its job, whether or not the action is still there to say so.
    const created = this.state === 'Active' || actions.get(this.names.actions.createJob)?.outcome === 'executed';
    if (!created) return;
    if (!jobView?.ours) this.watchJob();
    this.retryAfterJob();
  }

  /** The job does without what comes after it, so a failure there is no verdict; it is tried again all the same. */
  private retryAfterJob(): void {
    const failed = [...this.spoke.actions].filter(
      ([, action]) => action.ours && action.outcome === 'failed' && action.refusals < RETRY_BUDGET,
    );
    if (failed.length === 0) return;
    for (const manifest of this.task.workload.manifests()) {
      const action = manifest.afterJob && failed.find(([name]) => name === manifest.action)?.[1];
      if (action) this.retry(action, manifest.action, (tries) => createAction(this.task, manifest, tries));
    }
  }

  /** Deletes the spoke's namespace first: as long as hub objects are left, it is known that the spoke is not clean. */
  remove(): void {
    const { namespaceView, jobView } = this.spoke;
    if (!this.anythingLeft()) return;
    const deletions = this.deleteOnSpoke();
    const isViewed = [namespaceView, jobView].some((view) => view?.ours);
    // Whoever keeps the hub tidy removes actions that have ended, failed ones too: a view is what stays.
    if (deletions.includes('open') && !isViewed) this.look();
    if (!deletions.includes('open') && isViewed) this.deleteAll(ManagedClusterView);
    if (deletions.every((deletion) => deletion === 'done')) this.deleteAll(ManagedClusterAction);
  }

  /**
   * Asks for the deletion on the spoke, whether or not anything is left on the hub. True once all of it was executed; where deletions come
   * before any look nobody waits, as in the reference: they stay on the hub.
   */
  clean(): boolean {
    const deletions = this.deleteOnSpoke();
    return this.task.job.cleansFirst === true || deletions.every((deletion) => deletion === 'done');
  }

  private deleteOnSpoke(): Deletion[] {
    const deletions: Deletion[] = [];
    for (const name of this.task.workload.deletions) deletions.push(this.ensureDeleted(name, 'after'));
    return deletions;
  }

  /** What an older spec left on the hub goes at once; what it left on the spoke is found by the view that follows. */
  startOver(): void {
    this.forget();
  }

  forget(): void {
    if (this.anythingLeft()) this.drop();
  }

  /** Removes everything of this upgrade's job from the hub but deletions that nobody waits for, views last: they may be all that remembers the spoke. */
  drop(): void {
    this.#endTried();
    this.deleteAll(ManagedClusterAction, this.task.job.cleansFirst);
    this.deleteAll(ManagedClusterView);
  }

  /** Leaves nothing on the hub but a view that remembers what is still to be deleted on the spoke. */
  remember(): void {
    this.create(ManagedClusterView, createLeftover(this.task, this.task.workload.deletions));
    this.deleteAll(ManagedClusterAction);
    const { views } = this.names;
    const rest = [
      [views.namespace, this.spoke.namespaceView],
      [views.job, this.spoke.jobView],
    ] as const;
    for (const [definition, view] of rest) if (view?.ours) this.delete(ManagedClusterView, definition.name, view.uid);
  }

  private anythingLeft(): boolean {
    const { namespaceView, jobView, actions } = this.spoke;
    return [namespaceView, jobView, ...actions.values()].some((object) => object?.ours);
  }

  /**
   * How far a deletion is. One from before the workload says nothing about what the workload left behind.
   * Nothing is created for a spoke that is away: it would fire when it returns (spec/ocm 1.6).
   */
  private ensureDeleted(name: string, when: DeletionTime): Deletion {
    const action = this.spoke.actions.get(name);
    if (!action?.ours || action.deletes !== when) {
      if (!this.spoke.available) return 'open';
      if (action?.ours) this.recreate(action, name, deleteAction(this.task, name, { when }));
      else this.create(ManagedClusterAction, deleteAction(this.task, name, { when }));
      return 'asked';
    }
    if (action.outcome === 'executed') return 'done';
    if (action.outcome === 'pending') return 'asked';
    this.retry(action, name, (tries) => deleteAction(this.task, name, { when, tries }));
    return 'open';
  }

  /** Creates a failed action anew after 1, 2, 4, … s (at most 60), so that the second execution of spec/ocm 1.6 is over. */
  private retry(action: ActionObservation, name: string, build: (tries: Tries) => KubeObject): void {
    const dueAt = endedAt(action, this.#plan.now) + backOffMs(BACK_OFF, action.retries + 1);
    if (this.#plan.now < dueAt) {
      this.#plan.wake(dueAt);
      return;
    }
    // An outage of the spoke's API server costs nothing but time; a job that vanished was created by an action that succeeded.
    const counts = action.outcome === 'executed' || isRefusal(action.message);
    this.recreate(action, name, build({ retries: action.retries + 1, refusals: action.refusals + Number(counts) }));
  }

  private recreate(action: ActionObservation, name: string, object: KubeObject): void {
    this.delete(ManagedClusterAction, name, action.uid);
    this.create(ManagedClusterAction, object);
  }

  private create(kind: Resource, object: KubeObject): void {
    this.#plan.add({ verb: 'create', kind, object });
  }

  private delete(kind: Resource, name: string, uid: string | undefined): void {
    this.#plan.add({ verb: 'delete', kind, ref: { namespace: this.task.cluster, name }, uid: uid ?? '' });
  }

  /** @param keepsLeftovers those that nobody waits for stay */
  private deleteAll(kind: typeof ManagedClusterView | typeof ManagedClusterAction, keepsLeftovers = false): void {
    const { job, upgrade, cluster } = this.task;
    const { views = [], actions = [] } = this.spoke.cached ?? {};
    const known: readonly KubeObject[] = kind === ManagedClusterView ? views : actions;
    this.#plan.add({
      verb: 'deleteCollection',
      kind,
      namespace: cluster,
      labelSelector: `${upgradeSelector(job.work, upgrade.uid)}${keepsLeftovers ? `,${Label.leftover}!=true` : ''}`,
      objects: known.filter((object) => !keepsLeftovers || !isLeftover(object)),
    });
  }

  private view(view: ViewDefinition, intervalSeconds: number): KubeObject {
    return createView(this.task, view, intervalSeconds);
  }

  private get names() {
    return this.task.job.names;
  }
}

/** The second execution of an action that failed is over within a second (spec/ocm 1.6). */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000, floor: 1 };
/** Seconds between polls while a namespace is being removed. */
const CLEANUP_POLL_SECONDS = 2;
