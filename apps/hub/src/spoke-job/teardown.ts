import { Label } from '@flotilla/api';
import { BY_WORK_AND_CLUSTER, BY_WORK_AND_UPGRADE, hubObjectsOf, type SpokeJobCaches, spokeKey } from './caches.ts';
import type { JobState, SpokeJob, UpgradeIdentity } from './definition.ts';
import { type EffectDeps, EffectRun } from './effects.ts';
import { observeSpoke } from './observe.ts';

/** Spokes worked on at the same time. */
const PARALLEL = 16;

/** What tearing a kind of job down needs of it. */
export interface TeardownJob {
  readonly work: SpokeJob<JobState, never>['work'];
  readonly names: SpokeJob<JobState, never>['names'];
  /** Actions whose execution leaves the spoke clean. */
  readonly deletions: readonly string[];
  /** Whether a spoke in this state may have something of the job. */
  readonly isUnclean: (state: string) => boolean;
}

/**
 * Removes what a job left on spokes and hub, for an upgrade that is being deleted or has ended (spec/talm 2.14, 3.7).
 * Level-triggered: call `advance` until it returns true. A spoke that is away is left alone: an action for it would fire
 * when it returns, maybe in the midst of another upgrade, whose start cleans up anyway.
 */
export class Teardown {
  readonly #deps: EffectDeps & { readonly caches: SpokeJobCaches };
  readonly #upgrade: UpgradeIdentity;
  readonly #job: TeardownJob;
  readonly #done = new Set<string>();

  constructor(upgrade: UpgradeIdentity, job: TeardownJob, deps: EffectDeps & { readonly caches: SpokeJobCaches }) {
    this.#upgrade = upgrade;
    this.#job = job;
    this.#deps = deps;
  }

  /**
   * Takes every spoke as far as it goes now.
   * @param states the spokes' states in the upgrade's status
   * @param force drop what is on the hub without waiting for the spokes any longer
   * @returns true when nothing is left to do
   */
  async advance(states: Readonly<Record<string, string>>, force: boolean): Promise<boolean> {
    const pending = this.#spokes(states).filter((cluster) => !this.#done.has(cluster));
    for (let start = 0; start < pending.length; start += PARALLEL)
      await Promise.all(pending.slice(start, start + PARALLEL).map((cluster) => this.#advanceSpoke(cluster, states[cluster], force)));
    return pending.every((cluster) => this.#done.has(cluster));
  }

  /** Spokes with anything of ours on the hub, and those that ended without success, which still have the job. */
  #spokes(states: Readonly<Record<string, string>>): string[] {
    const { views, actions } = this.#deps.caches;
    const key = `${this.#job.work}/${this.#upgrade.uid}`;
    const withObjects = [...views.byIndex(BY_WORK_AND_UPGRADE, key), ...actions.byIndex(BY_WORK_AND_UPGRADE, key)];
    const unclean = Object.entries(states).flatMap(([cluster, state]) => (this.#job.isUnclean(state) ? [cluster] : []));
    return [...new Set([...withObjects.map(({ metadata }) => metadata.namespace ?? ''), ...unclean])];
  }

  /** Another upgrade works on the spoke by now: what is there is its own, and its start has removed what was ours. */
  #isAnothers(cluster: string): boolean {
    const { views, actions } = this.#deps.caches;
    const key = `${this.#job.work}/${cluster}`;
    const objects = [...views.byIndex(BY_WORK_AND_CLUSTER, key), ...actions.byIndex(BY_WORK_AND_CLUSTER, key)];
    return objects.some(({ metadata }) => metadata.labels?.[Label.upgradeUid] !== this.#upgrade.uid);
  }

  async #advanceSpoke(cluster: string, state: string | undefined, force: boolean): Promise<void> {
    const { caches } = this.#deps;
    const { work, names, deletions } = this.#job;
    const managed = caches.clusters.get({ name: cluster });
    const objects = hubObjectsOf(caches, spokeKey(work, this.#upgrade.uid, cluster));
    const spoke = observeSpoke(names, this.#upgrade.uid, { cluster: managed, ...objects });
    const workload = { manifests: () => [], deletions, jobViewSeconds: 0, progressViewSeconds: undefined, patienceMs: 0 };
    const run = new EffectRun({ job: this.#job, upgrade: this.#upgrade, cluster, workload }, spoke, state ?? '', this.#deps);
    if (spoke.available && !force && !this.#isAnothers(cluster) && !(await run.cleanUpSpoke())) return;
    await run.cleanUpHub();
    this.#done.add(cluster);
  }
}
