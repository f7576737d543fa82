import { Label } from '@flotilla/api';
import { mapConcurrently } from '@flotilla/pace';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { isNotFound } from '@flotilla/runtime';
import { type ApplyPlanDeps, applySpokePlan } from '../spokes/port/apply.ts';
import { objectsIn, objectsOf, type SpokeJobCaches } from '../spokes/port/caches.ts';
import { SpokePlan } from '../spokes/port/spoke-plan.ts';
import { cleaningOf } from '../spokes/port/workload.ts';
import { isLeftBehind, reachSpoke } from '../spokes/reach.ts';
import type { JobState, SpokeJob } from './kind.ts';

/** Dependencies of `Teardown`. */
interface TeardownDeps extends ApplyPlanDeps {
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const PARALLEL = 16;

/** Part of a kind of job that its teardown uses. */
export interface TeardownJob {
  readonly work: SpokeJob<JobState, never>['work'];
  readonly names: SpokeJob<JobState, never>['names'];
  readonly cleansFirst?: boolean | undefined;
  /** Actions whose execution leaves the spoke clean. */
  readonly deletions: readonly string[];
  /** State in which a spoke has no objects yet. */
  readonly initial: string;
}

/**
 * Removes the objects of a job from spokes and hub, for an upgrade that is being deleted or has ended (spec/talm 2.14, 3.7). Level-triggered: call
 * `advance` until it returns true. An absent spoke gets a leftover mark instead of actions (leftovers/): these would run on its return, maybe during
 * another upgrade.
 */
export class Teardown {
  readonly #deps: TeardownDeps;
  readonly #upgrade: UpgradeIdentity;
  readonly #job: TeardownJob;
  readonly #done = new Set<string>();
  /** Spokes that had a work: a spoke is clean once its work is gone. */
  readonly #byWork = new Set<string>();

  constructor(upgrade: UpgradeIdentity, job: TeardownJob, deps: TeardownDeps) {
    this.#upgrade = upgrade;
    this.#job = job;
    this.#deps = deps;
  }

  /**
   * Advances every spoke as far as possible now.
   * @param states the spokes' states in the upgrade's status
   * @param force mark absent spokes instead of waiting for them
   * @param named clusters that the upgrade names; default: every one
   * @returns time of the next try even without events, milliseconds since the epoch, which may be infinite; undefined when nothing is left to do
   */
  async advance(states: Readonly<Record<string, string>>, force: boolean, named?: ReadonlySet<string>): Promise<number | undefined> {
    const pending = this.#spokes(states).filter((cluster) => !this.#done.has(cluster));
    const times = await mapConcurrently(pending, PARALLEL, async (cluster) => {
      const isNamed = !named || named.has(cluster) || Object.hasOwn(states, cluster);
      try {
        // Objects with our labels in other namespaces are not ours: they are removed if possible, and never waited for.
        return await this.#advanceSpoke(cluster, isNamed ? states[cluster] : undefined, force || !isNamed);
      } catch (error) {
        // A cluster without a namespace, as one that was never accepted, and a hub without the kind have nothing of ours.
        if (isNamed && !isNotFound(error)) throw error;
        this.#done.add(cluster);
        return undefined;
      }
    });
    if (pending.every((cluster) => this.#done.has(cluster))) return undefined;
    return Math.min(...times.filter((time) => time !== undefined), Number.POSITIVE_INFINITY);
  }

  /** Spokes with objects of ours on the hub, and unsuccessful ones, which still have the job. */
  #spokes(states: Readonly<Record<string, string>>): string[] {
    const withObjects = objectsOf(this.#deps.caches, this.#job.work, this.#upgrade.uid);
    const unclean = Object.entries(states).flatMap(([cluster, state]) => (this.#isUnclean(state) ? [cluster] : []));
    return [...new Set([...withObjects.map(({ metadata }) => metadata.namespace ?? ''), ...unclean])];
  }

  /** True when another upgrade works on the spoke: its start has removed our objects. */
  #isAnothers(cluster: string): boolean {
    const objects = objectsIn(this.#deps.caches, this.#job.work, cluster);
    return objects.some((object) => !isLeftBehind(object) && object.metadata.labels?.[Label.upgradeUid] !== this.#upgrade.uid);
  }

  /** True when a spoke in this state may have objects of the job. */
  #isUnclean(state: string): boolean {
    return state !== this.#job.initial && state !== 'Succeeded';
  }

  /** Returns the time of the next try even without events, if the plan has one. */
  async #advanceSpoke(cluster: string, state: string | undefined, force: boolean): Promise<number | undefined> {
    const { caches, now } = this.#deps;
    const managed = caches.clusters.get({ name: cluster });
    const { by, spoke, effects: effectsOf } = reachSpoke(caches, { job: this.#job, upgradeUid: this.#upgrade.uid, cluster, now: now() });
    if (by === 'work') this.#byWork.add(cluster);
    else if (this.#byWork.has(cluster) && !spoke.isHeld) {
      this.#done.add(cluster);
      return undefined;
    }
    const task = { job: this.#job, upgrade: this.#upgrade, cluster, workload: cleaningOf(this.#job.deletions) };
    const plan = new SpokePlan(now());
    const effects = effectsOf(task, state ?? '', plan);
    // A job that a pause has stopped is in its first state and may be left on the spoke.
    const isStopped = state === 'NotStarted' && spoke.isHeld;
    const isWanted = managed !== undefined && !this.#isAnothers(cluster);
    let isDone = true;
    if (isWanted && spoke.available && !force) {
      isDone = effects.clean();
      if (isDone) effects.drop();
    } else if (isWanted && (state !== this.#job.initial || isStopped)) effects.remember();
    else effects.drop();
    await applySpokePlan(plan, task, this.#deps);
    if (isDone) this.#done.add(cluster);
    return plan.requeueAt;
  }
}
