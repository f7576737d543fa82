import { Event } from '@flotilla/api/core';
import { ManagedCluster, Placement, PlacementBinding, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type PolicyPropagator, startPolicyPropagator } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { expect } from 'vitest';
import { type PlacedPolicy, placePolicy } from '../../fixtures/placed-policies.ts';
import { HubWorld, type Surroundings, startSurroundings, upgradeRef, type WorldOptions } from '../world.ts';
import { History, type Membership, membershipOf } from './history.ts';

export { spokeNames } from '../world.ts';

/** Seconds from enforced to Compliant in these worlds, unless scripted. */
const COMPLIANCE_SECONDS = 0.4;

/** What an upgrade that went well says in both conditions. */
export const COMPLETED = 'Completed: All clusters are compliant with all the managed policies';
/** What Progressing says while it runs. */
export const REMEDIATING = 'True InProgress: Remediating non-compliant policies';

/** A world with the policy framework: policies are placed, enforced and rolled up, and everything that happens is remembered. */
export class RolloutWorld extends HubWorld {
  readonly propagator: PolicyPropagator;
  /** Clusters in the Placements of upgrades, in the order they were seen. */
  readonly memberships: Membership[] = [];
  readonly #histories = new Map<string, History>();
  readonly #stop = new AbortController();

  private constructor(parts: Surroundings, propagator: PolicyPropagator) {
    super(parts);
    this.propagator = propagator;
    this.#record();
  }

  static async start(options: WorldOptions): Promise<RolloutWorld> {
    const parts = await startSurroundings(options);
    const compliance = { seconds: COMPLIANCE_SECONDS, jitter: 0 };
    const propagator = await startPolicyPropagator({
      client: parts.client,
      seed: options.seed ?? 1,
      compliance,
      ...(options.inMemory && { clock: parts.clock }),
    });
    return new RolloutWorld(parts, propagator).begin(options);
  }

  override async stop(): Promise<void> {
    this.#stop.abort();
    await this.propagator.stop();
    await super.stop();
  }

  /** Creates policies of namespace `policies` that inform about these clusters, and waits until they do. */
  async policies(clusters: readonly string[], policies: Readonly<Record<string, Omit<PlacedPolicy, 'clusters'>>>): Promise<void> {
    for (const [name, options] of Object.entries(policies)) await placePolicy(this.client, name, { clusters, ...options });
    for (const [name, { namespace = 'policies' }] of Object.entries(policies))
      await this.untilRolledUp(`${namespace}/${name}`, clusters.length);
  }

  /** Waits until the status of a policy (`namespace/name`) says of so many clusters how they comply. */
  async untilRolledUp(policy: string, clusters: number): Promise<void> {
    const entries = async () => (await this.client.get(Policy, upgradeRef(policy)))?.status?.status ?? [];
    const reported = async () => (await entries()).filter(({ compliant }) => compliant !== undefined).length;
    await eventually(async () => (await reported()) === clusters, `policy ${policy} to be rolled up`);
  }

  /** Creates an upgrade of these clusters with these policies: enabled, all at once, 240 minutes, unless `spec` says otherwise. */
  async upgrade(
    name: string,
    clusters: readonly string[],
    managedPolicies: readonly string[],
    spec: Record<string, unknown> = {},
    annotations?: Readonly<Record<string, string>>,
  ): Promise<ClusterGroupUpgrade> {
    return this.client.create(ClusterGroupUpgrade, {
      metadata: { ...upgradeRef(name), ...(annotations && { annotations }) },
      spec: { clusters, managedPolicies, remediationStrategy: { maxConcurrency: 100, timeout: 240 }, ...spec },
    });
  }

  /** Changes the upgrade by a merge patch of `spec`. */
  async edit(name: string, spec: Record<string, unknown>): Promise<void> {
    await this.client.patch(ClusterGroupUpgrade, upgradeRef(name), { spec }, { type: 'merge' });
  }

  async annotateCluster(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.client.patch(ManagedCluster, { name }, { metadata: { annotations } }, { type: 'merge' });
  }

  /** Waits until both conditions say that all went well, and `completedAt` is set. */
  async untilCompleted(name: string, timeoutMs = 60_000): Promise<void> {
    await this.untilCondition(name, 'Succeeded', `True ${COMPLETED}`, timeoutMs);
    expect(await this.condition(name, 'Progressing')).toBe(`False ${COMPLETED}`);
    await this.untilEnded(name);
  }

  /** Waits until everything is cleaned up and `completedAt` is set. */
  async untilEnded(name: string): Promise<void> {
    await eventually(async () => (await this.get(name))?.status?.status.completedAt !== undefined, `${name} to set completedAt`, 60_000);
  }

  /** Waits until a cluster of the current batch is under way. */
  async untilInProgress(name: string, cluster: string): Promise<void> {
    const progress = async () => (await this.get(name))?.status?.status.currentBatchRemediationProgress?.[cluster]?.state;
    await eventually(async () => (await progress()) === 'InProgress', `${cluster} to be under way in ${name}`, 60_000);
  }

  /** `cluster: state` of `status.clusters`, in order. */
  async recorded(name: string): Promise<string[]> {
    return ((await this.get(name))?.status?.clusters ?? []).map((each) => `${each.name}: ${each.state}`);
  }

  /** `Reason Action` of the upgrade's events, sorted. */
  async events(name: string): Promise<string[]> {
    const ref = upgradeRef(name);
    const { items } = await this.client.list(Event, { namespace: ref.namespace });
    const own = items.filter(({ regarding }) => regarding?.kind === ClusterGroupUpgrade.kind && regarding.name === ref.name);
    return own.map(({ reason, action }) => `${reason} ${action}`).toSorted();
  }

  async labels(cluster: string): Promise<Readonly<Record<string, string>>> {
    return (await this.client.get(ManagedCluster, { name: cluster }))?.metadata.labels ?? {};
  }

  /** What the copy of a policy does on a cluster. */
  async actionOn(policy: string, cluster: string): Promise<string | undefined> {
    return (await this.client.get(Policy, { namespace: cluster, name: `policies.${policy}` }))?.spec?.remediationAction;
  }

  /** Placements and bindings that an upgrade made in namespace `policies`. */
  async objectsOf(upgrade: string) {
    const labelSelector = `openshift-cluster-group-upgrades/clusterGroupUpgrade=${upgrade}`;
    const options = { namespace: 'policies', labelSelector };
    const [placements, bindings] = await Promise.all([this.client.list(Placement, options), this.client.list(PlacementBinding, options)]);
    return { placements: placements.items, bindings: bindings.items };
  }

  /** Waits until there are none. */
  async untilObjectsGone(upgrade: string): Promise<void> {
    const left = async () => Object.values(await this.objectsOf(upgrade)).flat();
    await eventually(async () => (await left()).length === 0, `the objects of ${upgrade} to be gone`);
  }

  /** What a watch saw of an upgrade. */
  history(name: string): History {
    const { namespace, name: own } = upgradeRef(name);
    const key = `${namespace}/${own}`;
    const history = this.#histories.get(key) ?? new History();
    this.#histories.set(key, history);
    return history;
  }

  /** What happened to a policy of namespace `policies` on a cluster, in order. */
  happened(policy: string, cluster: string): string[] {
    return this.propagator.events
      .filter((each) => each.policy === `policies/${policy}` && each.cluster === cluster)
      .map(({ what }) => what);
  }

  /** Waits until a policy of namespace `policies` is enforced on a cluster no longer: a moment after its Placement says so. */
  async untilReleased(policy: string, cluster: string): Promise<void> {
    await eventually(() => this.happened(policy, cluster).includes('released'), `${policy} to be released on ${cluster}`);
  }

  /** When something first happened to a policy on a cluster, in milliseconds since the epoch. */
  happenedAt(policy: string, cluster: string, what: string): number | undefined {
    return this.propagator.events.find((each) => each.policy === `policies/${policy}` && each.cluster === cluster && each.what === what)
      ?.atMs;
  }

  #record(): void {
    const upgrades = new WatchCache(this.client, ClusterGroupUpgrade, {});
    upgrades.subscribe(({ type, object }) => {
      if (type === 'set') this.history(`${object.metadata.namespace}/${object.metadata.name}`).add(object);
    });
    const placements = new WatchCache(this.client, Placement, {});
    placements.subscribe(({ type, object }) => {
      const membership = type === 'set' ? membershipOf(object) : undefined;
      if (membership) this.memberships.push(membership);
    });
    for (const cache of [upgrades, placements]) cache.start(this.#stop.signal);
  }
}
