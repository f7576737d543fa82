/** The effects of the pre-cache machine on the hub's API server. Each is idempotent: it writes only what is missing. */
import {
  type KubeObject,
  Label,
  ManagedClusterAction,
  ManagedClusterView,
  PrecacheAction,
  type PrecacheState,
  PrecacheView,
  type Resource,
} from '@flotilla/api';
import type { PrecacheEffect } from '@flotilla/machines';
import { type Client, isAlreadyExists } from '@flotilla/runtime';
import {
  createAction,
  createView,
  type DeletionTime,
  deleteAction,
  templateDigest,
  type UpgradeIdentity,
  upgradeSelector,
} from './hub-objects.ts';
import { RETRY_BUDGET } from './interpret.ts';
import { precacheManifests, type SpokeManifest } from './manifests.ts';
import type { ActionObservation, SpokeObservation } from './observe.ts';
import type { PrecacheSettings } from './settings.ts';
import type { WorkloadInputs } from './workload-inputs.ts';

/** One spoke's part of one upgrade. */
export interface SpokeWork {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly inputs: WorkloadInputs;
  /** Seconds between the agent's polls of the progress ConfigMap. */
  readonly progressViewSeconds: number;
}

export interface EffectDeps {
  readonly client: Client;
  readonly settings: PrecacheSettings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Everything an effect works on. `wakeAt` collects the earliest moment the spoke must be looked at again. */
export class EffectRun {
  readonly work: SpokeWork;
  readonly spoke: SpokeObservation;
  readonly state: PrecacheState;
  readonly deps: EffectDeps;
  wakeAt: number | undefined;

  constructor(work: SpokeWork, spoke: SpokeObservation, state: PrecacheState, deps: EffectDeps) {
    this.work = work;
    this.spoke = spoke;
    this.state = state;
    this.deps = deps;
  }

  /** Carries one effect out. */
  async apply(effect: PrecacheEffect): Promise<void> {
    switch (effect) {
      case 'ensureNamespaceView':
        return this.ensureNamespaceView();
      case 'requestCleanup':
        return this.requestCleanup();
      case 'ensureWorkload':
        return this.ensureWorkload();
      case 'ensureJobViews':
        return this.ensureJobViews();
      case 'cleanUp':
        return this.cleanUp();
      case 'cleanUpHub':
        return this.cleanUpHub();
    }
  }

  async ensureNamespaceView(): Promise<void> {
    if (!this.spoke.namespaceView?.ours) await this.create(ManagedClusterView, this.view(PrecacheView.namespace, 0));
  }

  /** Deletes an earlier attempt's namespace, and with it the reference's ClusterRoleBinding, which would make our puller cluster-admin. */
  async requestCleanup(): Promise<void> {
    const gone = await this.ensureDeleted(PrecacheAction.deleteNamespace, 'before');
    await this.ensureDeleted(PrecacheAction.deleteClusterRoleBinding, 'before');
    const view = this.spoke.namespaceView;
    if (!gone || !view || view.intervalSeconds === CLEANUP_POLL_SECONDS) return;
    // The first view is polled every 30 s; a namespace is gone in a few. A new view also answers at once (spec/ocm 1.12).
    await this.deps.client.delete(ManagedClusterView, this.ref(PrecacheView.namespace), { uid: view.uid });
    await this.create(ManagedClusterView, this.view(PrecacheView.namespace, CLEANUP_POLL_SECONDS));
  }

  /** Creates the actions of the workload at once and in order: the agent takes them one after the other. */
  async ensureWorkload(): Promise<void> {
    const { jobView, available } = this.spoke;
    if (!available || (jobView?.ours && jobView.answer.kind !== 'absent')) return;
    const lost = jobView?.ours === true;
    const jobCreated = this.spoke.actions.get(PrecacheAction.createJob)?.outcome === 'executed';
    for (const manifest of precacheManifests(this.work.inputs)) {
      if (manifest.afterJob && !jobCreated) continue;
      const action = this.spoke.actions.get(manifest.action);
      if (lost && manifest.action === PrecacheAction.createJob && action) await this.recreateLostJob(manifest, action, jobView.uid);
      else await this.ensureAction(manifest, action);
    }
  }

  private async ensureAction(manifest: SpokeManifest, action: ActionObservation | undefined): Promise<void> {
    const { upgrade, cluster } = this.work;
    if (!action?.ours) return this.create(ManagedClusterAction, createAction(upgrade, cluster, manifest));
    if (action.outcome === 'executed') return;
    if (action.outcome === 'failed') return this.retry(action, manifest.action, (n) => createAction(upgrade, cluster, manifest, n));
    // Not executed yet: it follows the spec. A new object, because the agent freezes what it has executed (spec/ocm 1.6).
    if (action.template !== templateDigest(manifest.template))
      await this.recreate(action, manifest.action, createAction(upgrade, cluster, manifest));
  }

  private async recreateLostJob(manifest: SpokeManifest, action: ActionObservation, viewUid: string): Promise<void> {
    const { upgrade, cluster } = this.work;
    await this.retry(action, manifest.action, async (n) => {
      await this.deps.client.delete(ManagedClusterView, this.ref(PrecacheView.job), { uid: viewUid });
      return createAction(upgrade, cluster, manifest, n);
    });
  }

  /** Views of the job and of its progress, once the job is there: a view created earlier answers `not found` and is then blind for an interval. */
  async ensureJobViews(): Promise<void> {
    const { jobView, progressView, actions } = this.spoke;
    const { settings } = this.deps;
    // A spoke that is Active has its job, whether or not the action is still there to say so.
    const created = this.state === 'Active' || actions.get(PrecacheAction.createJob)?.outcome === 'executed';
    if (!created) return;
    if (!jobView?.ours) await this.create(ManagedClusterView, this.view(PrecacheView.job, settings.jobViewSeconds));
    if (!progressView?.ours && this.work.inputs.profile === 'least-privilege')
      await this.create(ManagedClusterView, this.view(PrecacheView.progress, this.work.progressViewSeconds));
    await this.retryProgressRights();
  }

  /** The job does without its right to publish progress, so its failure is no verdict; it is tried again all the same. */
  private async retryProgressRights(): Promise<void> {
    const { upgrade, cluster, inputs } = this.work;
    const failed = (name: string) => {
      const action = this.spoke.actions.get(name);
      return action?.ours && action.outcome === 'failed' && action.retries < RETRY_BUDGET ? action : undefined;
    };
    if (!failed(PrecacheAction.createRole) && !failed(PrecacheAction.createRoleBinding)) return;
    for (const manifest of precacheManifests(inputs)) {
      const action = manifest.afterJob && failed(manifest.action);
      if (action) await this.retry(action, manifest.action, (n) => createAction(upgrade, cluster, manifest, n));
    }
  }

  /** Deletes the spoke's namespace first: as long as hub objects are left, it is known that the spoke is not clean. */
  async cleanUp(): Promise<void> {
    const { spoke } = this;
    if (!this.anythingLeft()) return;
    const clean = await this.cleanUpSpoke();
    if (spoke.namespaceView?.ours || spoke.jobView?.ours || spoke.progressView?.ours) await this.deleteAll(ManagedClusterView);
    if (clean) await this.deleteAll(ManagedClusterAction);
  }

  /** Asks for the deletion on the spoke, whether or not anything is left on the hub. True once all of it was executed. */
  async cleanUpSpoke(): Promise<boolean> {
    const clean = await this.ensureDeleted(PrecacheAction.deleteNamespace, 'after');
    if (this.work.inputs.profile !== 'talm') return clean;
    return (await this.ensureDeleted(PrecacheAction.deleteClusterRoleBinding, 'after')) && clean;
  }

  async cleanUpHub(): Promise<void> {
    if (!this.anythingLeft()) return;
    await this.deleteAll(ManagedClusterView);
    await this.deleteAll(ManagedClusterAction);
  }

  private anythingLeft(): boolean {
    const { namespaceView, jobView, progressView, actions } = this.spoke;
    return [namespaceView, jobView, progressView, ...actions.values()].some((object) => object?.ours);
  }

  /**
   * True once the deletion was executed. One from before the workload says nothing about what the workload left behind.
   * Nothing is created for a spoke that is away: it would fire when it returns (spec/ocm 1.6).
   */
  private async ensureDeleted(name: PrecacheAction, when: DeletionTime): Promise<boolean> {
    const { upgrade, cluster } = this.work;
    const action = this.spoke.actions.get(name);
    if (!action?.ours || action.deletes !== when) {
      if (!this.spoke.available) return false;
      if (action?.ours) await this.recreate(action, name, deleteAction(upgrade, cluster, name, { when }));
      else await this.create(ManagedClusterAction, deleteAction(upgrade, cluster, name, { when }));
      return false;
    }
    if (action.outcome === 'failed') await this.retry(action, name, (retries) => deleteAction(upgrade, cluster, name, { when, retries }));
    return action.outcome === 'executed';
  }

  /** Creates a failed action anew after 1, 2, 4, … s (at most 60), so that the second execution of spec/ocm 1.6 is over. */
  private async retry(
    action: ActionObservation,
    name: PrecacheAction,
    build: (retries: number) => KubeObject | Promise<KubeObject>,
  ): Promise<void> {
    // A spoke whose clock is ahead or behind must not be waited for, nor be asked without a pause.
    const failedAt = action.completedAt > this.deps.now() ? action.createdAt : Math.max(action.completedAt, action.createdAt);
    const dueAt = failedAt + Math.min(1000 * 2 ** Math.min(action.retries, RETRY_BUDGET + 1), 60_000);
    if (this.deps.now() < dueAt) {
      this.wakeAt = Math.min(this.wakeAt ?? dueAt, dueAt);
      return;
    }
    await this.recreate(action, name, await build(action.retries + 1));
  }

  private async recreate(action: ActionObservation, name: PrecacheAction, object: KubeObject): Promise<void> {
    await this.deps.client.delete(ManagedClusterAction, this.ref(name), { uid: action.uid });
    await this.create(ManagedClusterAction, object);
  }

  /** Creates an object; one of the same name that another upgrade or another program left is replaced. */
  private async create(kind: Resource, object: KubeObject): Promise<void> {
    try {
      await this.deps.client.create(kind, object);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const ref = this.ref(object.metadata.name);
      const existing = await this.deps.client.get(kind, ref);
      if (existing?.metadata.labels?.[Label.upgradeUid] === this.work.upgrade.uid) return;
      if (existing?.metadata.uid) await this.deps.client.delete(kind, ref, { uid: existing.metadata.uid });
      await this.deps.client.create(kind, object);
    }
  }

  private async deleteAll(kind: Resource): Promise<void> {
    await this.deps.client.deleteCollection(kind, { namespace: this.work.cluster, labelSelector: upgradeSelector(this.work.upgrade.uid) });
  }

  private view(name: PrecacheView, intervalSeconds: number): KubeObject {
    return createView(this.work.upgrade, this.work.cluster, name, intervalSeconds);
  }

  private ref(name: string) {
    return { namespace: this.work.cluster, name };
  }
}

/** Seconds between polls while a namespace is being removed. */
const CLEANUP_POLL_SECONDS = 2;
