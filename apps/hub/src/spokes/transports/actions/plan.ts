/** Plans the effects of a job's machine by actions and views; each effect plans only missing writes. Pure. */
import { type KubeObject, Label, type Resource } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, type ManifestWork } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import { endedAt } from '@flotilla/rollout';
import { endWork } from '../port/ending-work.ts';
import {
  isRefusal,
  RETRY_BUDGET,
  type SpokeEffects,
  type SpokeManifest,
  type SpokePlan,
  type SpokeTask,
  type ViewDefinition,
} from '../port/port.ts';
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

/** `done`: executed on the spoke. `asked`: on its way. `open`: neither, so the hub must remember the deletion. */
type Deletion = 'done' | 'asked' | 'open';

/** A work of an earlier try: the job does not begin beside it. */
interface TriedWork {
  readonly work: ManifestWork;
  /** The cluster does not belong to this hub any more. */
  readonly isDetached: boolean;
}

/** Implements `SpokeEffects` by actions and views. */
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

  /** Switches the spoke to actions for good: its view on the hub carries the reason. */
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

  /** Deletes an earlier attempt's namespace, and the ClusterRoleBinding that would make our job's account cluster-admin. */
  clear(): void {
    if (this.#hasCleared) return;
    this.#hasCleared = true;
    const { actions, views } = this.names;
    const { cleansFirst } = this.task.job;
    const due = cleansFirst ? deletionsDue(this.task, this.spoke) : [actions.deleteNamespace, actions.deleteClusterRoleBinding];
    const deletions = new Map<string, Deletion>();
    for (const name of due) deletions.set(name, this.ensureDeleted(name, 'before'));
    const view = this.spoke.namespaceView;
    // The view proves that both deletions were requested, so it must follow them.
    if (cleansFirst && !view?.ours) return [...deletions.values()].includes('open') ? undefined : this.look();
    const isGone = deletions.get(actions.deleteNamespace) === 'done';
    if (!isGone || !view || view.intervalSeconds === CLEANUP_POLL_SECONDS) return;
    // The first view is polled every 30 s, but a namespace is gone in a few. A new view also answers at once (spec/ocm 1.12).
    this.delete(ManagedClusterView, views.namespace.name, view.uid);
    this.create(ManagedClusterView, this.view(views.namespace, CLEANUP_POLL_SECONDS));
  }

  /** Creates the workload's actions at once and in order, because the agent runs them one after the other. */
  ensure(): void {
    const { jobView, available } = this.spoke;
    const { cleansFirst } = this.task.job;
    if (this.#tried) return this.#endTried();
    if (!available || (jobView?.ours && jobView.answer.kind !== 'absent')) return;
    if (cleansFirst && !isCleaned(this.task, this.spoke)) return this.clear();
    if (cleansFirst) this.#plan.add(...unconfirmedDeletions(this.task, this.spoke));
    const { createJob } = this.names.actions;
    const jobCreated = this.spoke.actions.get(createJob)?.outcome === 'executed';
    // A view created with the job may answer before the job exists.
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
    // A pending action follows the spec. It is replaced, because the agent freezes executed actions (spec/ocm 1.6).
    if (action.template !== templateDigest(manifest.template)) this.recreate(action, manifest.action, createAction(this.task, manifest));
  }

  private recreateLostJob(manifest: SpokeManifest, action: ActionObservation, { uid, createdAt }: ViewObservation): void {
    const unview = () => this.delete(ManagedClusterView, this.names.views.job.name, uid);
    // A view created with the job may have been answered before the job existed.
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

  /** Creates the job's view after the job: an earlier view answers `not found` and is blind for an interval. */
  watch(): void {
    const { jobView, actions } = this.spoke;
    // An Active spoke has its job, even after its action was tidied away.
    const created = this.state === 'Active' || actions.get(this.names.actions.createJob)?.outcome === 'executed';
    if (!created) return;
    if (!jobView?.ours) this.watchJob();
    this.retryAfterJob();
  }

  /** Retries failed actions after the job. The job needs none of them, so their failure is no verdict. */
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

  /** Deletes the spoke's namespace before the hub objects, because hub objects mark the spoke as not clean. */
  remove(): void {
    const { namespaceView, jobView } = this.spoke;
    if (!this.anythingLeft()) return;
    const deletions = this.deleteOnSpoke();
    const isViewed = [namespaceView, jobView].some((view) => view?.ours);
    // A tidy-up of the hub may remove ended actions, even failed ones, but keeps views.
    if (deletions.includes('open') && !isViewed) this.look();
    if (!deletions.includes('open') && isViewed) this.deleteAll(ManagedClusterView);
    if (deletions.every((deletion) => deletion === 'done')) this.deleteAll(ManagedClusterAction);
  }

  /**
   * Requests the deletions on the spoke, even without objects on the hub. True once all were executed. Jobs that clean first wait for none, as in the
   * reference: their deletions stay on the hub.
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

  /** Drops an older spec's objects on the hub at once; the next view finds those on the spoke. */
  startOver(): void {
    this.forget();
  }

  forget(): void {
    if (this.anythingLeft()) this.drop();
  }

  /**
   * Removes this upgrade's objects from the hub, except deletions without a waiter. Views go last, because they may be the only record of the spoke.
   */
  drop(): void {
    this.#endTried();
    this.deleteAll(ManagedClusterAction, this.task.job.cleansFirst);
    this.deleteAll(ManagedClusterView);
  }

  /** Leaves only a view on the hub that remembers the spoke's owed deletions. */
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
   * Ensures a deletion and returns its progress. A deletion from before the workload proves nothing about the workload's objects. An absent spoke
   * gets no action, because it would run on the spoke's return (spec/ocm 1.6).
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

  /** Recreates a failed action after 1, 2, 4, … s (at most 60): the second execution of spec/ocm 1.6 must be over. */
  private retry(action: ActionObservation, name: string, build: (tries: Tries) => KubeObject): void {
    const dueAt = endedAt(action, this.#plan.now) + backOffMs(BACK_OFF, action.retries + 1);
    if (this.#plan.now < dueAt) {
      this.#plan.requeue(dueAt);
      return;
    }
    // An outage of the spoke's API server counts as no refusal. A vanished job was created by a successful action.
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

  /**
   * Deletes all objects of a kind by selector.
   * @param keepsLeftovers spares deletions without a waiter
   */
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

/** The second execution of a failed action is over within a second (spec/ocm 1.6). */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000, floor: 1 };
/** Seconds between polls of a namespace under deletion. */
const CLEANUP_POLL_SECONDS = 2;
