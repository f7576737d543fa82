import { Label, type PrecacheState } from '@flotilla/api';
import { BY_CLUSTER, BY_SPOKE, type PrecacheCaches } from './caches.ts';
import { type EffectDeps, EffectRun } from './effects.ts';
import type { UpgradeIdentity } from './hub-objects.ts';
import { observeSpoke } from './observe.ts';
import { spokeRuntime } from './spoke-runtime.ts';
import type { JobProfile } from './workload-inputs.ts';

/** Spokes worked on at the same time. */
const PARALLEL = 16;

/**
 * Removes what a pre-cache left on spokes and hub, for an upgrade that is being deleted or has ended (spec/talm 2.14, 3.7).
 * Level-triggered: call `advance` until it returns true. A spoke that is away is left alone: an action for it would fire
 * when it returns, maybe in the midst of another upgrade, whose start cleans up anyway.
 */
export class Teardown {
  readonly #deps: EffectDeps & { readonly caches: PrecacheCaches };
  readonly #upgrade: UpgradeIdentity;
  readonly #profile: JobProfile;
  readonly #done = new Set<string>();

  constructor(upgrade: UpgradeIdentity, profile: JobProfile, deps: EffectDeps & { readonly caches: PrecacheCaches }) {
    this.#upgrade = upgrade;
    this.#profile = profile;
    this.#deps = deps;
  }

  /**
   * Takes every spoke as far as it goes now.
   * @param force drop what is on the hub without waiting for the spokes any longer
   * @returns true when nothing is left to do
   */
  async advance(states: Readonly<Record<string, PrecacheState>>, force: boolean): Promise<boolean> {
    const pending = this.#spokes(states).filter((cluster) => !this.#done.has(cluster));
    for (let start = 0; start < pending.length; start += PARALLEL)
      await Promise.all(pending.slice(start, start + PARALLEL).map((cluster) => this.#advanceSpoke(cluster, states[cluster], force)));
    return pending.every((cluster) => this.#done.has(cluster));
  }

  /** Spokes with anything of ours on the hub, and those that ended without success, which still have the job. */
  #spokes(states: Readonly<Record<string, PrecacheState>>): string[] {
    const { views, actions } = this.#deps.caches;
    const withObjects = [...views.list(), ...actions.list()]
      .filter(({ metadata }) => metadata.labels?.[Label.upgradeUid] === this.#upgrade.uid)
      .map(({ metadata }) => metadata.namespace ?? '');
    const unclean = Object.keys(states).filter((cluster) => states[cluster] !== 'NotStarted' && states[cluster] !== 'Succeeded');
    return [...new Set([...withObjects, ...unclean])];
  }

  /** Another upgrade works on the spoke by now: what is there is its own, and its start has removed what was ours. */
  #isAnothers(cluster: string): boolean {
    const { views, actions } = this.#deps.caches;
    const objects = [...views.byIndex(BY_CLUSTER, cluster), ...actions.byIndex(BY_CLUSTER, cluster)];
    return objects.some(({ metadata }) => metadata.labels?.[Label.upgradeUid] !== this.#upgrade.uid);
  }

  async #advanceSpoke(cluster: string, state: PrecacheState | undefined, force: boolean): Promise<void> {
    const { caches } = this.#deps;
    const key = `${this.#upgrade.uid}/${cluster}`;
    const managed = caches.clusters.get({ name: cluster });
    const spoke = observeSpoke(this.#upgrade.uid, managed, caches.views.byIndex(BY_SPOKE, key), caches.actions.byIndex(BY_SPOKE, key));
    const inputs = {
      upgradeUid: this.#upgrade.uid,
      spec: {},
      image: '',
      profile: this.#profile,
      deadlineSeconds: 0,
      runtime: spokeRuntime(managed),
      registryConfig: '',
    };
    const run = new EffectRun(
      { upgrade: this.#upgrade, cluster, inputs, progressViewSeconds: 0 },
      spoke,
      state ?? 'NotStarted',
      this.#deps,
    );
    if (spoke.available && !force && !this.#isAnothers(cluster) && !(await run.cleanUpSpoke())) return;
    await run.cleanUpHub();
    this.#done.add(cluster);
  }
}
