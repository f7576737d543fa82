/**
 * A hub in memory whose work agents are played step by step on one clock: works take a while until they are applied and available. It remembers what
 * agents have reported of the machines that are there now, to compare with what the hub calls complete.
 */
import { Annotation, conditionTime } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManifestWork, ManifestWorkReplicaSet, WORK_APPLIED, WORK_AVAILABLE } from '@flotilla/api/ocm';
import { UPGRADE } from '@flotilla/rollout/testing';
import type { Client } from '@flotilla/runtime';
import type { createCaches } from '../src/caches.ts';
import { planRolloutSpoke } from '../src/spokes/rollout/step.ts';
import { applyWrites } from '../src/writes/apply.ts';
import { T0, UpgradeWorld, type UpgradeWorldOptions } from './upgrade-world.ts';

/** Milliseconds from the creation of a work until its agent reports it. */
const AVAILABLE_MS = 60_000;

/** Templates, in order; what happens, happens to the first. */
const TEMPLATES = ['t', 'u'] as const;

/** Facts around the works, which a test changes; the world makes the objects follow. */
interface WorkFacts {
  /** Version of the first template; undefined: it is gone. */
  version: number | undefined;
  /** Clusters whose agent cannot apply the work. */
  readonly failing: Set<string>;
  /** Clusters whose agent is cut off. */
  readonly away: Set<string>;
  /** Number of times that each cluster was imported again, as another machine. */
  readonly imports: Map<string, number>;
}

/** See the head of this file. */
export class WorkWorld extends UpgradeWorld {
  protected override readonly asks = { manifestWorkTemplates: TEMPLATES };
  readonly facts: WorkFacts = { version: 1, failing: new Set(), away: new Set(), imports: new Map() };
  readonly #options: UpgradeWorldOptions;
  /** Since when the agent knows a work, by its uid, milliseconds since the epoch. */
  readonly #knownSince = new Map<string, number>();
  /** Templates and versions that the agent of the machine that is there now has reported as available. */
  readonly #reported = new Map<string, Set<string>>();

  constructor(options: UpgradeWorldOptions) {
    super(options);
    this.#options = options;
  }

  /** Clusters that are complete, and whose machine never reported the work of some template. */
  get unseenSuccesses(): readonly string[] {
    return Object.entries(this.recorded).flatMap(([name, state]) =>
      state === 'complete' &&
      !TEMPLATES.every((template) => [...(this.#reported.get(name) ?? [])].some((told) => told.startsWith(template)))
        ? [name]
        : [],
    );
  }

  /** Versions of the first template that were reported by any cluster. */
  get versions(): readonly string[] {
    const told = [...this.#reported.values()].flatMap((each) => [...each]);
    return [...new Set(told.filter((each) => each.startsWith(TEMPLATES[0])))].toSorted();
  }

  /** Somebody deletes the work of a cluster. */
  deleteWork(cluster: string): void {
    for (const { metadata } of this.#worksOn(cluster)) this.hub.remove(ManifestWork, metadata);
  }

  protected override follow(): void {
    for (const name of TEMPLATES) this.#putTemplate(name, name === TEMPLATES[0] ? this.facts.version : 1);
    for (const cluster of this.#options.clusters) this.#follow(cluster);
  }

  #putTemplate(name: string, version: number | undefined): void {
    const at = { namespace: UPGRADE.namespace, name };
    if (version === undefined) {
      this.hub.remove(ManifestWorkReplicaSet, at);
      return;
    }
    const data = { version: `${name} ${version}` };
    const manifests = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'default' }, data }];
    this.put(ManifestWorkReplicaSet, {
      metadata: { ...at, annotations: { [Annotation.expectedValues]: '' } },
      spec: { manifestWorkTemplate: { workload: { manifests } }, placementRefs: [{ name: 'nobody' }] },
    });
  }

  #follow(name: string): void {
    const { away, imports } = this.facts;
    const { uid, isOther } = this.uidOf(name, imports);
    // A new agent takes a work up anew; until then the work says what the one before has said.
    if (isOther) {
      this.#reported.delete(name);
      for (const { metadata } of this.#worksOn(name)) this.#knownSince.delete(metadata.uid ?? '');
    }
    const condition = { type: CLUSTER_AVAILABLE, status: away.has(name) ? 'Unknown' : 'True', reason: 'Lease', message: 'its lease' };
    this.put(ManagedCluster, {
      metadata: { name, labels: { name }, uid },
      spec: { hubAcceptsClient: true, taints: [] },
      status: { conditions: [{ ...condition, lastTransitionTime: conditionTime(T0) }] },
    });
    if (!away.has(name)) for (const work of this.#worksOn(name)) this.#report(name, work);
  }

  #report(cluster: string, work: ManifestWork): void {
    const { uid = '', generation = 1 } = work.metadata;
    const since = this.#knownSince.get(uid) ?? this.now;
    this.#knownSince.set(uid, since);
    if (this.now - since < AVAILABLE_MS) return;
    const isFailing = this.facts.failing.has(cluster);
    const [manifest] = work.spec?.workload?.manifests ?? [];
    const { data } = Object(manifest);
    if (!isFailing) this.#reported.set(cluster, (this.#reported.get(cluster) ?? new Set()).add(String(data?.version)));
    const conditions = [WORK_APPLIED, WORK_AVAILABLE].map((type) => ({
      type,
      status: isFailing ? 'False' : 'True',
      reason: 'Played',
      message: isFailing ? 'no rights' : '',
      observedGeneration: generation,
      lastTransitionTime: conditionTime(since),
    }));
    this.put(ManifestWork, { ...work, status: { conditions } });
  }

  #worksOn(namespace: string): ManifestWork[] {
    return this.hub
      .names(ManifestWork)
      .flatMap((name) => (this.hub.get(ManifestWork, { namespace, name }) as ManifestWork | undefined) ?? [])
      .filter((work, index, all) => all.findIndex(({ metadata }) => metadata.uid === work.metadata.uid) === index);
  }

  protected override async write({ client, caches }: { client: Client; caches: ReturnType<typeof createCaches> }): Promise<void> {
    const upgrade = caches.upgrades.get(UPGRADE);
    const { talmStrict } = this.#options;
    for (const cluster of upgrade ? this.#options.clusters : []) {
      if (!upgrade) return;
      const { writes } = planRolloutSpoke(upgrade, cluster, { caches, now: () => this.now, talmStrict });
      const signal = new AbortController().signal;
      await applyWrites(writes, { client, caches: [caches.works, caches.clusters], decideOwner: () => 'ours', signal });
    }
  }
}
