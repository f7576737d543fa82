/**
 * A hub in memory whose policy framework is played step by step on one clock: what places policies, their copies and roll-ups, and clusters that
 * comply a while after their batch has reached them. It remembers what could be seen, to compare with what the hub calls complete.
 */
import { conditionTime, Label } from '@flotilla/api';
import {
  CLUSTER_AVAILABLE,
  ManagedCluster,
  PLACEMENT_SATISFIED,
  Placement,
  PlacementBinding,
  PlacementDecision,
  Policy,
} from '@flotilla/api/ocm';
import { buildPolicy } from '@flotilla/rollout/testing';
import { T0, UpgradeWorld, type UpgradeWorldOptions } from './upgrade-world.ts';

const NAMESPACE = 'policies';
const COPY_OF = `${NAMESPACE}.p`;
const UNREACHABLE = 'cluster.open-cluster-management.io/unreachable';
/** Milliseconds from the moment at which its batch reaches a cluster until it complies. */
const COMPLIES_MS = 60_000;

interface PolicyWorldOptions extends UpgradeWorldOptions {
  readonly soakSeconds: number;
}

/** Facts of the framework, which a test changes; the world makes the objects follow. */
export interface Framework {
  exists: boolean;
  disabled: boolean;
  bound: boolean;
  setBound: boolean;
  tolerates: boolean;
  isRollUpStalled: boolean;
  /** Its owner enforces the policy in the root itself. */
  enforced: boolean;
  /** A kind that places policies, which the API server serves no more; nobody places any by it. */
  unserved: typeof PlacementBinding | typeof Placement | typeof PlacementDecision | undefined;
  /** Number of times that each cluster was imported again, as another machine that has to comply anew. */
  readonly imports: Map<string, number>;
  /** Clusters that never comply. */
  readonly failing: Set<string>;
  /** Clusters whose copy is lost and not made again. */
  readonly uncopied: Set<string>;
  /** Clusters that the Placement does not select. */
  readonly unselected: Set<string>;
  /** Clusters without the label by which it selects. */
  readonly unlabelled: Set<string>;
  readonly away: Set<string>;
}

/** See the head of this file. */
export class PolicyWorld extends UpgradeWorld {
  protected override readonly asks = { managedPolicies: ['p'] };
  readonly facts: Framework = {
    exists: true,
    disabled: false,
    bound: true,
    setBound: true,
    tolerates: false,
    isRollUpStalled: false,
    enforced: false,
    unserved: undefined,
    imports: new Map(),
    failing: new Set(),
    uncopied: new Set(),
    unselected: new Set(),
    unlabelled: new Set(),
    away: new Set(),
  };
  readonly #options: PolicyWorldOptions;
  /** Since when the hub can see that a cluster complies. */
  readonly #seenSince = new Map<string, number>();
  /** Longest time for which that could be seen without a gap, after its batch had reached it. */
  readonly #seenMs = new Map<string, number>();
  /** Clusters that the policy was known not to be meant for when the upgrade was created. */
  #unmeant: ReadonlySet<string> = new Set();

  constructor(options: PolicyWorldOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * Clusters that are complete without having been seen to comply for their soak after their batch had reached them, but those whose record says that
   * no policy was meant for them, where that could be known at the start.
   */
  get unseenSuccesses(): readonly string[] {
    return (this.upgrade?.status?.clusters ?? []).flatMap(({ name, state, message }) => {
      const wasSeen = (this.#seenMs.get(name) ?? -1) >= this.#options.soakSeconds * 1000;
      const isUnmeant = message === 'no policy of the upgrade is placed on it' && this.#unmeant.has(name);
      return state === 'complete' && !wasSeen && !isUnmeant ? [name] : [];
    });
  }

  override create(): void {
    const { unselected, unlabelled, away } = this.facts;
    this.#unmeant = new Set(
      this.#options.clusters.filter((cluster) => !away.has(cluster) && (unselected.has(cluster) || unlabelled.has(cluster))),
    );
    super.create();
  }

  protected override follow(): void {
    const { facts } = this;
    for (const cluster of this.#options.clusters) this.#putCluster(cluster);
    if (facts.unserved) this.hub.unserve(facts.unserved);
    const decided = this.#putPlacement();
    const placed = new Set(facts.exists && facts.bound && !facts.disabled && !facts.unserved ? decided : []);
    this.#putPolicy();
    for (const cluster of this.#options.clusters) this.#putCopy(cluster, placed.has(cluster));
    this.#rollUp();
    for (const cluster of this.#options.clusters) this.#note(cluster);
  }

  #putCluster(name: string): void {
    const { away, unlabelled } = this.facts;
    const labels = { name, ...(!unlabelled.has(name) && { fleet: 'edge' }) };
    const status = away.has(name) ? 'Unknown' : 'True';
    const condition = { type: CLUSTER_AVAILABLE, status, reason: 'Lease', message: 'its lease', lastTransitionTime: conditionTime(T0) };
    const { uid, isOther } = this.uidOf(name, this.facts.imports);
    if (isOther) for (const known of [this.#seenSince, this.#seenMs]) known.delete(name);
    const taints = away.has(name) ? [{ key: UNREACHABLE, effect: 'NoSelect' }] : [];
    this.put(ManagedCluster, {
      metadata: { name, labels, uid },
      spec: { hubAcceptsClient: true, taints },
      status: { conditions: [condition] },
    });
  }

  #putPlacement(): readonly string[] {
    const { setBound, tolerates, unselected, unlabelled, away, bound } = this.facts;
    const at = { namespace: NAMESPACE, name: 'where' };
    const decided = this.#options.clusters.filter(
      (cluster) => setBound && !unselected.has(cluster) && !unlabelled.has(cluster) && (tolerates || !away.has(cluster)),
    );
    const [status, reason] =
      decided.length > 0
        ? ['True', 'AllDecisionsScheduled']
        : ['False', setBound ? 'NoManagedClusterMatched' : 'NoManagedClusterSetBindings'];
    const condition = { type: PLACEMENT_SATISFIED, status, reason, message: reason, lastTransitionTime: conditionTime(T0) };
    this.#place(Placement, {
      metadata: { ...at, generation: 1 },
      spec: { tolerations: tolerates ? [{ key: UNREACHABLE, operator: 'Exists' }] : [] },
      status: { conditions: [condition], numberOfSelectedClusters: decided.length },
    });
    const metadata = { namespace: NAMESPACE, name: 'where-decision-1', labels: { [Label.placement]: 'where' } };
    this.#place(PlacementDecision, { metadata, status: { decisions: decided.map((clusterName) => ({ clusterName, reason: '' })) } });
    if (!bound) this.hub.remove(PlacementBinding, at);
    else
      this.#place(PlacementBinding, {
        metadata: at,
        placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name: 'where' },
        subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name: 'p' }],
      });
    return decided;
  }

  #place(kind: NonNullable<Framework['unserved']>, object: Parameters<typeof this.put>[1]): void {
    if (kind !== this.facts.unserved) this.put(kind, object);
  }

  #putPolicy(): void {
    const { exists, disabled, enforced } = this.facts;
    if (!exists) {
      this.hub.remove(Policy, { namespace: NAMESPACE, name: 'p' });
      return;
    }
    const { soakSeconds } = this.#options;
    const { metadata, spec } = buildPolicy('p', { objects: [{ kind: 'ConfigMap' }] });
    const { status } = (this.hub.get(Policy, metadata) as Policy | undefined) ?? {};
    this.put(Policy, {
      metadata: { ...metadata, annotations: { 'ran.openshift.io/soak-seconds': String(soakSeconds) } },
      spec: { ...spec, disabled, ...(enforced && { remediationAction: 'enforce' }) },
      ...(status && { status }),
    });
  }

  #putCopy(cluster: string, isPlaced: boolean): void {
    const at = { namespace: cluster, name: COPY_OF };
    const found = this.hub.get(Policy, at) as Policy | undefined;
    if (!isPlaced || this.facts.uncopied.has(cluster)) this.hub.remove(Policy, at);
    else {
      const reached = this.reachedAt.get(cluster);
      const complies = reached !== undefined && this.now - reached >= COMPLIES_MS && !this.facts.failing.has(cluster);
      const compliant = this.facts.away.has(cluster) ? found?.status?.compliant : complies ? 'Compliant' : 'NonCompliant';
      this.put(Policy, {
        metadata: { ...at, labels: { [Label.rootPolicy]: COPY_OF } },
        spec: { remediationAction: 'inform' },
        ...(compliant !== undefined && { status: { compliant } }),
      });
    }
  }

  #rollUp(): void {
    const root = this.hub.get(Policy, { namespace: NAMESPACE, name: 'p' });
    if (!root || this.facts.isRollUpStalled) return;
    const status = this.#options.clusters.flatMap((clustername) => {
      const copy = this.hub.get(Policy, { namespace: clustername, name: COPY_OF }) as Policy | undefined;
      return copy ? [{ clustername, ...(copy.status?.compliant !== undefined && { compliant: copy.status.compliant }) }] : [];
    });
    this.put(Policy, { ...root, status: { status } });
  }

  /** Takes note of a compliance that the hub can see. */
  #note(cluster: string): void {
    const root = this.hub.get(Policy, { namespace: NAMESPACE, name: 'p' }) as Policy | undefined;
    const copy = this.hub.get(Policy, { namespace: cluster, name: COPY_OF });
    const entry = root?.status?.status?.find(({ clustername }) => clustername === cluster);
    const isSeen =
      copy && !root?.spec?.disabled && !this.facts.away.has(cluster) && entry?.compliant === 'Compliant' && this.reachedAt.has(cluster);
    if (!isSeen) this.#seenSince.delete(cluster);
    else {
      const since = this.#seenSince.get(cluster) ?? this.now;
      this.#seenSince.set(cluster, since);
      this.#seenMs.set(cluster, Math.max(this.#seenMs.get(cluster) ?? 0, this.now - since));
    }
  }
}
