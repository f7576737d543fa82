/** A fleet of two spokes on a simulated clock, in which causes are put and taken away, and `why` is asked. */
import { Annotation, findCondition } from '@flotilla/api';
import type { WhyAnswer } from '@flotilla/api/answers';
import { Lease } from '@flotilla/api/core';
import { AGENT_LEASE, ManagedCluster, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { answerWhyOf } from '@flotilla/cli/testing';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { perform, writeLimits } from '../core/acts.ts';
import type { ClusterAct, PolicyAct, UpgradePart } from '../core/story.ts';
import { spokeName, World } from '../core/world.ts';

/** The upgrade that is asked about, and another one of whoever needs one. */
export const [UPGRADE, OTHER] = ['u1', 'u2'] as const;
const POLICY = `${UPGRADE}-p1`;
/** The template of the upgrades that roll out works, and one that may follow. */
export const [TEMPLATE, SECOND_TEMPLATE] = [`${UPGRADE}-t1`, `${UPGRADE}-t2`] as const;
const CLUSTERS = [1, 2] as const;
const merge = { type: 'merge' } as const;
/** Place of upgrades and templates. */
export const refOf = (name: string) => ({ namespace: 'default', name });

type Spec = Readonly<Record<string, unknown>>;
type Annotations = Readonly<Record<string, string | null>>;

/** See the head of this file. */
export class Scene implements Disposable {
  readonly world: World;
  /** Faults of each spoke: each cause adds its own. */
  readonly #faults = new Map<number, Readonly<Record<string, unknown>>>();

  constructor(seed: number) {
    const part: UpgradePart = {
      name: UPGRADE,
      at: 0,
      clusters: CLUSTERS,
      canaries: [],
      maxConcurrency: 2,
      timeoutMinutes: 600,
      policies: [{ soakSeconds: 0 }],
      works: 0,
      preCaching: false,
      backup: false,
      enable: true,
      abort: false,
    };
    const story = { seed, spokes: 2, transport: 'actions', hubs: 1, upgrades: [part], acts: [], storms: [] } as const;
    this.world = new World(story, { tracksFields: true });
  }

  get now(): number {
    return this.world.scheduler.now();
  }

  /** Lets so much time pass. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms;
    using _wake = this.world.scheduler.setTimer(ms, () => undefined);
    while (this.now < until && (await this.world.scheduler.step()));
  }

  /** Lets time pass until this is so; false when it is not within `ms`. */
  async until(isSo: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
    for (const end = this.now + ms; this.now < end; await this.pass(2_000)) if (await isSo()) return true;
    return false;
  }

  ask(): Promise<WhyAnswer> {
    return answerWhyOf({ client: this.world.user, hubNamespace: 'flotilla', now: () => this.now }, refOf(UPGRADE));
  }

  /** Creates the policy of the upgrade, unless it is to be without. */
  placePolicy(annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    return placePolicy(this.world.user, POLICY, { clusters: this.world.names, annotations });
  }

  placeTemplate(name: string = TEMPLATE): Promise<void> {
    return createTemplate(this.world.user, name);
  }

  async create(name: string, spec: Spec, annotations: Annotations = {}): Promise<void> {
    const kept = Object.fromEntries(Object.entries(annotations).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
    await this.world.user.create(ClusterGroupUpgrade, {
      metadata: { ...refOf(name), annotations: kept },
      spec: {
        clusters: this.world.names,
        managedPolicies: [POLICY],
        remediationStrategy: { maxConcurrency: 2, timeout: 600 },
        ...spec,
      } as ClusterGroupUpgrade['spec'] & object,
    });
  }

  edit(spec: Spec, name: string = UPGRADE): Promise<unknown> {
    return this.world.user.patch(ClusterGroupUpgrade, refOf(name), { spec }, merge);
  }

  annotate(annotations: Annotations, name: string = UPGRADE): Promise<unknown> {
    return this.world.user.patch(ClusterGroupUpgrade, refOf(name), { metadata: { annotations } }, merge);
  }

  delete(name: string): Promise<unknown> {
    return this.world.user.delete(ClusterGroupUpgrade, refOf(name));
  }

  upgrade(name: string = UPGRADE): ClusterGroupUpgrade | undefined {
    return this.world.upgrades().find(({ metadata }) => metadata.name === name);
  }

  get isInProgress(): boolean {
    const progress = this.upgrade()?.status?.status.currentBatchRemediationProgress ?? {};
    return this.world.names.every((name) => progress[name]?.state === 'InProgress');
  }

  isInProgressOn(cluster: number, name: string): boolean {
    return this.upgrade(name)?.status?.status.currentBatchRemediationProgress?.[spokeName(cluster)]?.state === 'InProgress';
  }

  get hasCompleted(): boolean {
    return findCondition(this.upgrade()?.status?.conditions, 'Succeeded')?.status === 'True';
  }

  onCluster(what: ClusterAct['what'], cluster: number): Promise<void> {
    return perform(this.world, { at: this.world.ms, what, cluster });
  }

  onPolicy(what: PolicyAct['what']): Promise<void> {
    return perform(this.world, { at: this.world.ms, what, upgrade: UPGRADE, policy: 1 });
  }

  annotatePolicy(annotations: Readonly<Record<string, string>>): Promise<unknown> {
    return this.world.user.patch(Policy, { namespace: 'policies', name: POLICY }, { metadata: { annotations } }, merge);
  }

  /** Nothing gets done on any spoke in a batch, or it does. */
  async stick(isStuck: boolean): Promise<void> {
    this.faultAll({ failWork: isStuck ? 'the agent may not create it' : undefined });
    for (const cluster of CLUSTERS) await this.onCluster(isStuck ? 'never' : 'comply', cluster);
  }

  /** The same faults on all spokes. */
  faultAll(faults: Readonly<Record<string, unknown>>): void {
    for (const cluster of CLUSTERS) this.fault(cluster, faults);
  }

  /** Adds faults to those of a spoke; undefined takes one away. */
  fault(cluster: number, faults: Readonly<Record<string, unknown>>): void {
    const all = { ...this.#faults.get(cluster), ...faults };
    this.#faults.set(cluster, all);
    this.world.spokes.setFaults(spokeName(cluster), Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
  }

  accept(cluster: number, hubAcceptsClient: boolean): Promise<unknown> {
    return this.world.user.patch(ManagedCluster, { name: spokeName(cluster) }, { spec: { hubAcceptsClient } }, merge);
  }

  /** The agent's lease says that it was renewed then, milliseconds since the epoch. */
  async renew(cluster: number, at: number): Promise<void> {
    const ref = { namespace: spokeName(cluster), name: AGENT_LEASE };
    const spec = { holderIdentity: 'agent', leaseDurationSeconds: 60, renewTime: new Date(at).toISOString().replace('Z', '000Z') };
    if (await this.world.user.get(Lease, ref)) await this.world.user.patch(Lease, ref, { spec }, merge);
    else await this.world.user.create(Lease, { metadata: ref, spec });
  }

  /** The limits of the fleet are those of this text. */
  limit(text: string): Promise<void> {
    return writeLimits(this.world, text);
  }

  hold(cluster: number, why: string | null): Promise<unknown> {
    return this.annotateCluster(cluster, { [Annotation.hold]: why });
  }

  annotateCluster(cluster: number, annotations: Readonly<Record<string, string | null>>): Promise<unknown> {
    return this.world.user.patch(ManagedCluster, { name: spokeName(cluster) }, { metadata: { annotations } }, merge);
  }

  [Symbol.dispose](): void {
    for (const hub of this.world.hubs) this.world.killHub(hub);
    this.world[Symbol.dispose]();
  }
}
