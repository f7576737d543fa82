import {
  CLEANUP_FINALIZER,
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeSpec,
  findCondition,
  type Ref,
  refKey,
  UpgradeCondition,
} from '@flotilla/api';
import type { Client, Logger, ReconcileResult } from '@flotilla/runtime';
import type { PrecacheCaches } from '../../precache/caches.ts';
import type { PrecacheEngine } from '../../precache/engine.ts';
import { rollUp } from '../../precache/rollup.ts';
import type { PrecacheRun } from '../../precache/run.ts';
import type { PrecacheSettings } from '../../precache/settings.ts';
import { Teardown } from '../../precache/teardown.ts';
import { writeFinalizer, writeStatus } from './apply.ts';
import { observeUpgrade, type UpgradeCaches } from './observe.ts';
import { type PlanDeps, planUpgrade, type UpgradePlan } from './plan.ts';
import { describeStatus, type PrecachingReport } from './status.ts';

export interface ReconcilerDeps extends PlanDeps {
  readonly client: Client;
  readonly caches: UpgradeCaches & PrecacheCaches;
  readonly engine: PrecacheEngine;
  readonly settings: PrecacheSettings;
  readonly now: () => number;
  readonly logger: Logger;
}

/** One status write per upgrade and second at most. */
const WRITE_INTERVAL_MS = 1000;
/** How long spokes are waited for when an upgrade is deleted. */
const TEARDOWN_MS = 60_000;

/** What this process remembers of an upgrade; all of it can be had again. */
interface Memory {
  uid: string;
  writtenAt: number;
  /** The last write, and the version it replaced: the cache shows that version until the write arrives. */
  written?: { readonly replaced: string | undefined; readonly upgrade: ClusterGroupUpgrade };
  teardown?: Teardown;
}

/** Carries ClusterGroupUpgrades: gone, deleting, finalizer, ended, plan, pre-cache, status. The only writer of their status. */
export class UpgradeReconciler {
  readonly #deps: ReconcilerDeps;
  readonly #memory = new Map<string, Memory>();

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** @param key `namespace/name` */
  async reconcile(key: string): Promise<ReconcileResult> {
    const [namespace = '', name = ''] = key.split('/');
    const upgrade = this.#latest(key, { namespace, name });
    if (!upgrade) {
      this.#forget(key);
      return {};
    }
    const memory = this.#remember(key, upgrade);
    if (upgrade.metadata.deletionTimestamp) return this.#finalize(upgrade, memory);
    if (!upgrade.metadata.finalizers?.includes(CLEANUP_FINALIZER)) {
      await writeFinalizer(upgrade, true, this.#deps.client);
      return {};
    }
    if (findCondition(upgrade.status?.conditions, UpgradeCondition.succeeded)) return this.#complete(upgrade, memory);
    const waitMs = memory.writtenAt + WRITE_INTERVAL_MS - this.#deps.now();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    return this.#advance(upgrade, memory);
  }

  async #advance(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const spec = ClusterGroupUpgradeSpec.safeParse(upgrade.spec ?? {});
    if (!spec.success) {
      this.#deps.logger.warn({ upgrade: refKey(upgrade.metadata), reason: spec.error.issues[0]?.message }, 'Spec cannot be read');
      return {};
    }
    const observed = observeUpgrade(upgrade, this.#deps.caches);
    const plan = await planUpgrade(observed, spec.data, this.#deps);
    const run = this.#requestPrecaching(upgrade, spec.data, plan);
    const report = run && this.#report(run, plan);
    const desired = describeStatus(upgrade, plan, report, new Date(this.#deps.now()));
    await this.#write(upgrade, desired, memory);
    return plan.recheckAfterMs === undefined ? {} : { requeueAfterMs: plan.recheckAfterMs };
  }

  /** Hands the plan to the engine; while the plan is refused, what was begun goes on as it was. */
  #requestPrecaching(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec, plan: UpgradePlan): PrecacheRun | undefined {
    const { engine, settings } = this.#deps;
    const { uid = '', name, namespace = '' } = upgrade.metadata;
    const existing = engine.run(uid);
    const wanted = plan.precaching?.spec;
    const stored = upgrade.status?.precaching?.status ?? {};
    if (!wanted && !existing) return undefined;
    if (!wanted) return existing && engine.request({ ...existing.request, stored });
    const clusters = new Set(plan.precachingClusters);
    for (const cluster of Object.keys(stored)) if (stored[cluster] !== 'NotStarted') clusters.add(cluster);
    return engine.request({
      upgrade: { uid, name, namespace },
      clusters: [...clusters],
      stored,
      spec: wanted,
      image: plan.precaching?.image ?? settings.image,
      profile: settings.profile,
      jobSeconds: spec.remediationStrategy.timeout * 60,
    });
  }

  #report(run: PrecacheRun, plan: UpgradePlan): PrecachingReport {
    const planned = plan.stopped === undefined ? plan.precachingClusters : run.request.clusters;
    const states = new Map([...run.spokes].map(([cluster, { state }]) => [cluster, state]));
    return { rollUp: rollUp(planned, states), clusters: run.request.clusters, spokes: run.spokes };
  }

  async #finalize(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    if (!upgrade.metadata.finalizers?.includes(CLEANUP_FINALIZER)) return {};
    const since = this.#deps.now() - Date.parse(upgrade.metadata.deletionTimestamp ?? '');
    if (!(await this.#tearDown(upgrade, memory, since > TEARDOWN_MS))) return { requeueAfterMs: Math.max(TEARDOWN_MS - since, 1000) };
    await writeFinalizer(upgrade, false, this.#deps.client);
    return {};
  }

  /** After the verdict: `completedAt`, once everything is cleaned that this upgrade wants cleaned (spec/talm 2.4, 2.14). */
  async #complete(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    if (upgrade.status?.status.completedAt) return {};
    const keep = upgrade.spec?.actions?.afterCompletion?.deleteObjects === false;
    const ended = findCondition(upgrade.status?.conditions, UpgradeCondition.succeeded)?.lastTransitionTime ?? '';
    const since = this.#deps.now() - Date.parse(ended);
    if (!keep && !(await this.#tearDown(upgrade, memory, since > TEARDOWN_MS)))
      return { requeueAfterMs: Math.max(TEARDOWN_MS - since, 1000) };
    const completedAt = new Date(this.#deps.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    await this.#write(upgrade, { ...upgrade.status, status: { ...upgrade.status?.status, completedAt } }, memory);
    return {};
  }

  #tearDown(upgrade: ClusterGroupUpgrade, memory: Memory, force: boolean): Promise<boolean> {
    const { uid = '', name, namespace = '' } = upgrade.metadata;
    const { client, settings, now, caches, engine } = this.#deps;
    engine.end(uid);
    memory.teardown ??= new Teardown({ uid, name, namespace }, settings.profile, { client, settings, now, caches });
    return memory.teardown.advance(upgrade.status?.precaching?.status ?? {}, force);
  }

  async #write(upgrade: ClusterGroupUpgrade, desired: NonNullable<ClusterGroupUpgrade['status']>, memory: Memory): Promise<void> {
    const written = await writeStatus(upgrade, desired, this.#deps.client);
    if (!written) return;
    memory.writtenAt = this.#deps.now();
    memory.written = { replaced: upgrade.metadata.resourceVersion, upgrade: written };
    const { uid = '' } = upgrade.metadata;
    const run = this.#deps.engine.run(uid);
    if (run) this.#deps.engine.request({ ...run.request, stored: written.status?.precaching?.status ?? {} });
  }

  /** The upgrade as last written by us, until the cache has seen that write. */
  #latest(key: string, ref: Ref): ClusterGroupUpgrade | undefined {
    const cached = this.#deps.caches.upgrades.get(ref);
    const memory = this.#memory.get(key);
    if (!cached || !memory?.written || memory.written.upgrade.metadata.uid !== cached.metadata.uid) return cached;
    return cached.metadata.resourceVersion === memory.written.replaced ? memory.written.upgrade : cached;
  }

  #remember(key: string, upgrade: ClusterGroupUpgrade): Memory {
    const uid = upgrade.metadata.uid ?? '';
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    if (known) this.#deps.engine.end(known.uid);
    const memory: Memory = { uid, writtenAt: 0 };
    this.#memory.set(key, memory);
    return memory;
  }

  #forget(key: string): void {
    const memory = this.#memory.get(key);
    if (memory) this.#deps.engine.end(memory.uid);
    this.#memory.delete(key);
  }
}
