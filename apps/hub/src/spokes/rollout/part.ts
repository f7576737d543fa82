import { type KubeObject, Label } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import {
  actionIndexValue,
  isComplete,
  isRunning,
  keepsObjects,
  namedClusters,
  placementOf,
  type RolloutProblem,
  type SpokeTarget,
  targetsOf,
  templatesOf,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import { type Change, type Watch, watch } from '@flotilla/runtime';
import { BY_LABELS, BY_UID, BY_UPGRADE, BY_UPGRADE_NAME, isOfJob, type RolloutCaches } from '../../caches.ts';
import { isBound, placementWrites } from '../../placements/placing.ts';
import { describeWrites } from '../../writes/apply.ts';
import { keyText, type PartPlan, type SpokeKey, type SpokePart, type SpokeStep, wholeText } from '../part.ts';
import type { Problems } from '../problems.ts';
import { hasClusterChanged } from '../transports/cluster.ts';
import { type PlanDeps, planRolloutSpoke, type RolloutSpokePlan } from './step.ts';

/** Dependencies of `SpokeRollouts`. */
interface RolloutsDeps extends PlanDeps {
  readonly caches: RolloutCaches;
  readonly step: SpokeStep<RolloutSpokePlan>;
  readonly problems: Problems;
}

/** Stands for the Placements of an upgrade among its problems. */
const PLACEMENTS = '';

/** The rollout as a part of what upgrades do on their spokes: what the stored status leaves to write there. Only the leader has one. */
export class SpokeRollouts implements SpokePart {
  readonly name = 'rollout';
  readonly watches: SpokePart['watches'];
  readonly step: SpokeStep<RolloutSpokePlan>;
  readonly #deps: RolloutsDeps;
  /** Missing writes of Placements by the object of their upgrade, within one turn of the event loop: planning them takes longer than a spoke. */
  readonly #placing = new WeakMap<ClusterGroupUpgrade, boolean>();

  constructor(deps: RolloutsDeps) {
    this.#deps = deps;
    this.step = deps.step;
    this.watches = watchesOf(deps.caches);
  }

  /**
   * True when no object of a rollout on the hub delays the upgrade's end.
   * @param leavingCounts objects that only wait for their cluster's agent to remove a finalizer count too
   */
  isClean(upgrade: ClusterGroupUpgrade, { leavingCounts }: { readonly leavingCounts: boolean }): boolean {
    const isPlaced = this.#placementWrites(upgrade).length > 0 || this.#hasPlacements(upgrade);
    const named = namedClusters(upgrade);
    return !isPlaced && ![...this.#leftovers(upgrade, leavingCounts)].some((cluster) => named.has(cluster));
  }

  /** A kind that objects of the upgrade may be of, and that the API server does not serve: that none is seen says nothing then. */
  unservedOf(upgrade: ClusterGroupUpgrade): string | undefined {
    if (keepsObjects(upgrade)) return undefined;
    const { placements, bindings, works } = this.#deps.caches;
    const { placements: named = [], manifestWorkTemplates: templates = [] } = upgrade.status ?? {};
    const used = [...(named.length > 0 ? [placements, bindings] : []), ...(templates.length > 0 ? [works] : [])];
    return used.find(({ present }) => !present)?.kind.kind;
  }

  /** Returns the lasting errors of an upgrade's writes by cluster, or `''` for the Placements. */
  problems({ metadata: { uid = '' } }: ClusterGroupUpgrade): ReadonlyMap<string, RolloutProblem> {
    return this.#deps.problems.of(this.name, uid);
  }

  /** Takes over how the Placements of an upgrade were written; undefined: nothing is missing. */
  placed({ metadata: { uid = '' } }: ClusterGroupUpgrade, error: unknown): void {
    this.#deps.problems.note(this.name, { upgrade: uid, cluster: PLACEMENTS }, error);
  }

  #placementWrites(upgrade: ClusterGroupUpgrade) {
    return placementWrites(upgrade, this.#deps.caches, this.#deps.talmStrict);
  }

  #hasPlacements(upgrade: ClusterGroupUpgrade): boolean {
    if (keepsObjects(upgrade)) return false;
    const { namespace = '', name } = upgrade.metadata;
    const value = upgradeIndexValue({ namespace, name });
    const { placements, bindings } = this.#deps.caches;
    return placements.byIndex(BY_UPGRADE_NAME, value).length + bindings.byIndex(BY_UPGRADE_NAME, value).length > 0;
  }

  /** Clusters with objects of the upgrade and no target. */
  #leftovers(upgrade: ClusterGroupUpgrade, leavingCounts = true): Set<string> {
    const { works, views, actions } = this.#deps.caches;
    const { namespace = '', name, uid = '' } = upgrade.metadata;
    const clustersIn = (cache: { byIndex(index: string, value: string): readonly KubeObject[] }) =>
      [uid, upgradeIndexValue({ namespace, name }), actionIndexValue({ namespace, name })]
        .flatMap((value) => cache.byIndex(BY_UPGRADE, value))
        .filter(({ metadata }) => leavingCounts || metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.namespace ?? '');
    const targets = targetsOf(upgrade);
    const approved = clustersIn(actions).filter((cluster) => !this.#deps.talmStrict || !isComplete(upgrade, cluster));
    const found = [...clustersIn(views), ...approved];
    const kept = keepsObjects(upgrade) ? [] : clustersIn(works);
    return new Set([...found, ...kept].filter((cluster) => !targets.has(cluster)));
  }

  /** Clusters of an upgrade with a target, or with objects. */
  clustersOf(uid: string): Set<string> {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    return new Set(upgrade ? [...targetsOf(upgrade).keys(), ...this.#leftovers(upgrade)] : []);
  }

  /** Plans what the stored status leaves to write for a spoke. */
  plan({ upgrade: uid, cluster }: SpokeKey): PartPlan {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    if (!upgrade) return { writes: '' };
    const planned = planRolloutSpoke(upgrade, cluster, this.#deps);
    const { target, writes, at } = planned;
    if (writes.length === 0 || this.#waitsForPolicy(upgrade, target)) return { writes: '', at: at };
    // Cleaning up after a batch is not urgent while the next one begins.
    const yields = target.phase === 'cleanup' && isRunning(upgrade);
    const apply = (signal: AbortSignal) => this.step({ upgrade: uid, cluster }, signal, planned);
    return { writes: `${describe(target)}: ${describeWrites(writes)}`, at: at, yields, apply };
  }

  /** A view made before its object stays blind for an interval, so the policy is enforced first. */
  #waitsForPolicy(upgrade: ClusterGroupUpgrade, target: SpokeTarget): boolean {
    if (target.phase !== 'remediate' || target.mode !== 'policy') return false;
    return !isBound(upgrade, target.policy, this.#deps.caches) || this.#isPlacing(upgrade);
  }

  #isPlacing(upgrade: ClusterGroupUpgrade): boolean {
    const known = this.#placing.get(upgrade);
    if (known !== undefined) return known;
    const isPlacing = this.#placementWrites(upgrade).length > 0;
    this.#placing.set(upgrade, isPlacing);
    queueMicrotask(() => this.#placing.delete(upgrade));
    return isPlacing;
  }
}

/** Maps changes to keys. The first reconcile of each upgrade plans its spokes, so what else is there at the start enqueues nothing. */
function watchesOf({ upgrades, clusters, templates, ...objects }: RolloutsDeps['caches']): Watch[] {
  const keyIn = ({ metadata: { uid = '' } }: ClusterGroupUpgrade, cluster: string) => keyText({ upgrade: uid, cluster });
  const wholeOf = (found: readonly ClusterGroupUpgrade[]) => found.map(({ metadata }) => wholeText(metadata.uid ?? ''));
  const isInitial = false;
  // By name too: an upgrade that was restored goes on with what carries the uid that it had.
  const ofSpoke = ({ object }: Change<KubeObject>) =>
    new Set(
      [
        ...upgrades.byIndex(BY_UID, object.metadata.labels?.[Label.upgradeUid] ?? ''),
        ...upgrades.byIndex(BY_LABELS, upgradeIndexOf(object)),
      ].map((upgrade) => keyIn(upgrade, object.metadata.namespace ?? '')),
    );
  const isTarget = (upgrade: ClusterGroupUpgrade, cluster: string) => isRunning(upgrade) && targetsOf(upgrade).has(cluster);
  const usesTemplate =
    ({ metadata: { namespace, name } }: KubeObject) =>
    (upgrade: ClusterGroupUpgrade) =>
      upgrade.metadata.namespace === namespace && templatesOf(upgrade).includes(name);
  return [
    watch(upgrades, { enqueue: ({ object }) => wholeOf([object]) }),
    watch(clusters, {
      select: hasClusterChanged,
      enqueue: ({ object: { metadata } }) =>
        upgrades.list().flatMap((upgrade) => (isTarget(upgrade, metadata.name) ? [keyIn(upgrade, metadata.name)] : [])),
      isInitial,
    }),
    ...[objects.works, objects.views, objects.actions].map((cache) =>
      watch(cache, { select: ({ object }: Change<KubeObject>) => !isOfJob(object), enqueue: ofSpoke, isInitial }),
    ),
    // Steps wait until their policy is enforced.
    ...[objects.placements, objects.bindings].map((cache) =>
      watch(cache, { enqueue: ({ object }) => wholeOf(upgrades.byIndex(BY_LABELS, upgradeIndexOf(object))), isInitial }),
    ),
    // A binding is made when they are exactly the members, and goes when they are more.
    watch(objects.decisions, {
      enqueue: ({ object }) => {
        const placement = objects.placements.get(placementOf(object));
        return placement ? wholeOf(upgrades.byIndex(BY_LABELS, upgradeIndexOf(placement))) : [];
      },
      isInitial,
    }),
    watch(templates, { enqueue: ({ object }) => wholeOf(upgrades.list().filter(usesTemplate(object))), isInitial }),
  ];
}

/** Describes a target; descriptions of different targets differ. */
function describe(target: SpokeTarget): string {
  if (target.phase !== 'remediate') return target.phase;
  return target.mode === 'policy' ? `remediate ${target.policy}` : `remediate ${target.template}`;
}
