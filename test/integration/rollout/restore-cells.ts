/**
 * A hub that is lost in the middle of ten upgrades, one in each phase, and restored object by object: each upgrade's objects come back in an order of
 * its own, with new uids, with or without its status. One play is one world.
 */
import { Annotation, conditionTime, type KubeObject, type Resource } from '@flotilla/api';
import {
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  Placement,
  PlacementBinding,
  PlacementDecision,
  Policy,
} from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { upgradeRef } from '../world.ts';
import { placePolicy } from './policies.ts';
import { RolloutWorld, spokeNames } from './world.ts';

const MINUTE_MS = 60_000;
const SIZE = 3;
const CACHING = { preCaching: true, preCachingConfigRef: { name: 'config' } };
/** Compliance seconds of a cluster that never gets there before the loss. */
const NEVER = { never: true };

type Status = NonNullable<ClusterGroupUpgrade['status']>;

/** A phase: what is asked for, who is kept from getting on, and how it is known that the upgrade is there. */
interface Phase {
  readonly spec?: (world: RolloutWorld) => Record<string, unknown>;
  readonly annotations?: (world: RolloutWorld) => Record<string, string>;
  readonly policy?: Record<string, string>;
  /** Number of the cluster that does not comply, from 1. */
  readonly held?: number;
  /** Jobs of its spokes go on until the end. */
  readonly jobsHeld?: boolean;
  readonly isThere: (status: Status, name: string) => boolean;
}

const batches = (maxConcurrency = 1, more: object = {}) => ({ maxConcurrency, timeout: 240, ...more });
const isAt =
  (number: number) =>
  ({ status }: Status, name: string): boolean =>
    status.currentBatchRemediationProgress?.[`${name}-${number}`]?.state === 'InProgress';
const says = (reason: string) => (status: Status) => (status.conditions ?? []).some((condition) => condition.reason === reason);

/** The phases by the name of their upgrade and its clusters. */
export const phases = {
  idle: { spec: () => ({ enable: false }), isThere: (status) => status.remediationPlan?.flat().length === SIZE },
  pulls: { spec: () => CACHING, jobsHeld: true, isThere: ({ precaching }) => precaching?.status?.['pulls-1'] === 'Active' },
  backup: { spec: () => ({ backup: true }), jobsHeld: true, isThere: ({ backup }) => backup?.status?.['backup-1'] === 'Active' },
  window: {
    spec: () => CACHING,
    annotations: ({ clock }) => ({ [Annotation.windowStart]: conditionTime(clock.now() + 20 * MINUTE_MS) }),
    isThere: says('WaitingForWindow'),
  },
  canary: { spec: () => ({ remediationStrategy: batches(2, { canaries: ['canary-1'] }) }), held: 1, isThere: isAt(1) },
  soak: {
    policy: { 'ran.openshift.io/soak-seconds': '600' },
    isThere: ({ status }) => status.currentBatchRemediationProgress?.['soak-1']?.firstCompliantAt !== undefined,
  },
  later: { spec: () => CACHING, held: 2, isThere: isAt(2) },
  last: { held: 3, isThere: isAt(3) },
  ended: { spec: () => ({ remediationStrategy: batches(3) }), isThere: ({ status }) => status.completedAt !== undefined },
  blocked: { spec: () => ({ blockingCRs: [{ name: 'canary', namespace: 'default' }] }), isThere: says('IncompleteBlockingCR') },
} as const satisfies Record<string, Phase>;
type PhaseName = keyof typeof phases;
/** Names of the phases. */
export const phaseNames = Object.keys(phases) as PhaseName[];

/** One cell: an upgrade in its phase, the order of its objects, and whether its status comes back. */
export interface Cell {
  readonly phase: PhaseName;
  /** Order, from 0. */
  readonly order: number;
  readonly hasStatus: boolean;
}

/** Objects of one upgrade, in the order in which they come back. */
const objects = ['policy', 'cluster 1', 'cluster 2', 'cluster 3', 'upgrade', 'status'] as const;
type ObjectName = (typeof objects)[number];

/** The order by seed and number; the first is the documented one. */
export function orderOf(seed: number, order: number): readonly ObjectName[] {
  if (seed === 0 && order === 0) return ['cluster 1', 'cluster 2', 'cluster 3', 'policy', 'upgrade', 'status'];
  const random = createRandom(seed, `order ${order}`);
  const shuffled = objects.map((name) => ({ name, at: random() })).toSorted((one, other) => one.at - other.at);
  const names = shuffled.map(({ name }) => name);
  // A status needs its object.
  return names.indexOf('status') < names.indexOf('upgrade') ? [...names.filter((name) => name !== 'status'), 'status'] : names;
}

interface Saved {
  readonly upgrade: ClusterGroupUpgrade;
  readonly clusters: readonly ManagedCluster[];
  /** Jobs that each cluster had had. */
  readonly jobs: readonly number[];
}

/** Observations of one cell. */
interface CellResult {
  /** Clusters that were called complete after the loss and had never complied. */
  readonly unseen: readonly string[];
  /** Most jobs that a cluster got after the loss. */
  readonly jobs: number;
  /** Clusters beyond the members that a Placement of the upgrade named. */
  readonly strangers: readonly string[];
  /** Clusters that were enforced although others before them were held. */
  readonly early: readonly string[];
  /** Conditions and messages after the restore, before anything was released. */
  readonly said: string;
  /** Status and reason of the end. */
  readonly end: string | undefined;
}

/** A world of ten upgrades. */
export class RestoreWorld {
  readonly world: RolloutWorld;
  readonly #seed: number;

  constructor(world: RolloutWorld, seed: number) {
    this.world = world;
    this.#seed = seed;
  }

  static async start(seed: number): Promise<RestoreWorld> {
    const spokes = phaseNames.flatMap((name) => spokeNames(SIZE, name));
    const job = { seconds: 0.5, startupMs: 100 };
    const hubArgs = ['--backup-image', 'registry.test/recovery:1'];
    return new RestoreWorld(await RolloutWorld.start({ spokes, job, hubArgs, withoutHub: true }), seed);
  }

  /** Plays the cells: begins the upgrades, loses the hub, restores it, and lets all go on. @param isRunning the hub runs while objects come back */
  async play(cells: readonly Cell[], isRunning: boolean): Promise<ReadonlyMap<PhaseName, CellResult>> {
    const { world } = this;
    await world.startHub();
    await Promise.all(cells.map(({ phase }) => this.#begin(phase)));
    await Promise.all(cells.map(({ phase }) => this.#untilThere(phase)));
    await world.hub?.stop();
    const saved = new Map(await Promise.all(cells.map(async ({ phase }) => [phase, await this.#lose(phase)] as const)));
    const lostAt = Date.now();
    if (isRunning) await world.startHub();
    await Promise.all(cells.map((cell) => this.#restore(cell, saved.get(cell.phase))));
    if (!isRunning) await world.startHub();
    await Promise.all(cells.map((cell) => this.#untilTold(cell)));
    const said = new Map(await Promise.all(cells.map(async ({ phase }) => [phase, await this.#said(phase)] as const)));
    const early = new Map(cells.map(({ phase }) => [phase, this.#early(phase)]));
    await this.#release(cells);
    const ends = new Map(await Promise.all(cells.map(async ({ phase }) => [phase, await this.#untilEnded(phase)] as const)));
    return new Map(
      cells.map(({ phase }) => {
        const before = saved.get(phase)?.jobs ?? [];
        const jobs = Math.max(
          ...spokeNames(SIZE, phase).map((name, index) => world.spokes.jobsCreated(name).length - (before[index] ?? 0)),
        );
        return [
          phase,
          {
            unseen: this.#unseen(phase, lostAt),
            jobs,
            strangers: this.#strangers(phase),
            early: early.get(phase) ?? [],
            said: said.get(phase) ?? '',
            end: ends.get(phase),
          },
        ];
      }),
    );
  }

  async #begin(name: PhaseName): Promise<void> {
    const { spec, annotations, policy, held, jobsHeld }: Phase = phases[name];
    const { world } = this;
    const clusters = spokeNames(SIZE, name);
    if (held !== undefined) world.propagator.script(`policies/${name}-p`, `${name}-${held}`, NEVER);
    if (jobsHeld) for (const cluster of clusters) world.spokes.setFaults(cluster, { jobsHeld });
    await world.policies(clusters, { [`${name}-p`]: { decided: true, ...(policy && { annotations: policy }) } });
    const wanted = { remediationStrategy: batches(), ...spec?.(world) };
    await world.upgrade(name, clusters, [`${name}-p`], wanted, annotations?.(world));
  }

  async #untilThere(name: PhaseName): Promise<void> {
    const { isThere }: Phase = phases[name];
    let last: Status | undefined;
    const ask = async () => {
      last = (await this.world.get(name))?.status;
      return last !== undefined && isThere(last, name);
    };
    await eventually(ask, () => `${name} to be in its phase, is ${JSON.stringify(last?.conditions?.at(-1))}`, 60_000);
  }

  /** Takes away all objects of an upgrade, those that the hub made too; returns those that a backup has. */
  async #lose(name: PhaseName): Promise<Saved> {
    const { client, spokes } = this.world;
    const upgrade = await client.get(ClusterGroupUpgrade, upgradeRef(name));
    if (!upgrade) throw new Error(`${name} is not there`);
    await client.patch(ClusterGroupUpgrade, upgradeRef(name), { metadata: { finalizers: null } }, { type: 'merge' });
    await client.delete(ClusterGroupUpgrade, upgradeRef(name));
    const { placements, bindings } = await this.world.objectsOf(name);
    for (const { metadata } of bindings) await client.delete(PlacementBinding, metadata);
    for (const { metadata } of placements) await client.delete(Placement, metadata);
    const own = { namespace: 'policies', name: `${name}-p` };
    for (const kind of [PlacementBinding, Placement, Policy]) await client.delete(kind, own);
    await client.delete(PlacementDecision, { ...own, name: `${own.name}-decision-1` });
    const clusters: ManagedCluster[] = [];
    for (const cluster of spokeNames(SIZE, name)) {
      const found = await client.get(ManagedCluster, { name: cluster });
      if (found) clusters.push(found);
      await client.delete(ManagedCluster, { name: cluster });
      await this.#clear(cluster);
    }
    return { upgrade, clusters, jobs: spokeNames(SIZE, name).map((cluster) => spokes.jobsCreated(cluster).length) };
  }

  /** Objects of the hub in a namespace are not in a backup. */
  async #clear(namespace: string): Promise<void> {
    const { client } = this.world;
    const kinds: readonly Resource[] = [ManagedClusterAction, ManagedClusterView, ManifestWork];
    for (const kind of kinds)
      for (const { metadata } of (await client.list(kind, { namespace })).items) {
        if (metadata.finalizers?.length) await client.patch(kind, metadata, { metadata: { finalizers: null } }, { type: 'merge' });
        await client.delete(kind, metadata);
      }
  }

  async #restore({ phase, order, hasStatus }: Cell, saved: Saved | undefined): Promise<void> {
    if (!saved) throw new Error(`${phase} was not saved`);
    const { client } = this.world;
    const { policy }: Phase = phases[phase];
    const { upgrade, clusters } = saved;
    for (const object of orderOf(this.#seed, order)) {
      if (object === 'policy') {
        const annotations = policy && { annotations: policy };
        await placePolicy(client, `${phase}-p`, { clusters: spokeNames(SIZE, phase), decided: true, ...annotations });
      } else if (object === 'upgrade') {
        const { labels, annotations } = upgrade.metadata;
        const metadata = { ...upgradeRef(phase), labels, annotations, finalizers: [CLEANUP_FINALIZER] };
        await client.create(ClusterGroupUpgrade, { metadata, spec: upgrade.spec } as KubeObject);
      } else if (object === 'status') {
        if (hasStatus) await this.#restoreStatus(upgrade);
      } else await this.#restoreCluster(clusters[Number(object.slice(-1)) - 1]);
    }
  }

  async #restoreStatus({ metadata, status }: ClusterGroupUpgrade): Promise<void> {
    const ref = { namespace: metadata.namespace, name: metadata.name };
    await this.world.client.patch(ClusterGroupUpgrade, ref, { status }, { type: 'merge', subresource: 'status' });
  }

  async #restoreCluster(saved: ManagedCluster | undefined): Promise<void> {
    if (!saved) throw new Error('a cluster was not saved');
    const { name, labels, annotations } = saved.metadata;
    const { client } = this.world;
    await client.create(ManagedCluster, { metadata: { name, labels, annotations }, spec: saved.spec } as KubeObject);
    await client.patch(ManagedCluster, { name }, { status: saved.status }, { type: 'merge', subresource: 'status' });
  }

  /** Waits until the upgrade says where it is: what it waits for, or that it goes on. */
  async #untilTold({ phase, hasStatus }: Cell): Promise<void> {
    let said = '';
    const isTold = async () => {
      said = await this.#said(phase);
      const { status } = (await this.world.get(phase)) ?? {};
      if (!hasStatus) return (await this.world.condition(phase, 'ClustersSelected'))?.startsWith('False WaitingForMembers') ?? false;
      return (status?.conditions ?? []).length > 0 && (await this.world.condition(phase, 'ClustersSelected'))?.startsWith('True') === true;
    };
    await eventually(isTold, () => `${phase} to say where it is: ${said}`, 60_000);
  }

  async #said(phase: PhaseName): Promise<string> {
    const { status } = (await this.world.get(phase)) ?? {};
    const conditions = (status?.conditions ?? []).map(({ type, status: is, reason, message }) => `${type}=${is} ${reason}: ${message}`);
    return [...conditions, ...Object.values(status?.messages ?? {}), ...Object.values(status?.precaching?.messages ?? {})].join('\n');
  }

  /** Clusters behind one that is held, or of an upgrade that must not have begun, that were enforced. */
  #early(phase: PhaseName): string[] {
    const { held }: Phase = phases[phase];
    const isHeldBack = (index: number): boolean =>
      phase === 'ended' ? false : phase === 'soak' ? index > 0 : held === undefined ? true : index >= held;
    return spokeNames(SIZE, phase).filter(
      (cluster, index) => isHeldBack(index) && this.world.happened(`${phase}-p`, cluster).includes('enforced'),
    );
  }

  /** Takes off what kept them and lets the time go on: windows open, soaks end, statuses are not waited for any more. */
  async #release(cells: readonly Cell[]): Promise<void> {
    const { world } = this;
    for (const { phase } of cells)
      for (const cluster of spokeNames(SIZE, phase)) {
        world.propagator.script(`policies/${phase}-p`, cluster, {});
        world.spokes.setFaults(cluster, {});
      }
    await world.edit('idle', { enable: true });
    world.clock.skip(31 * MINUTE_MS);
  }

  async #untilEnded(phase: PhaseName): Promise<string | undefined> {
    const end = async () => (await this.world.condition(phase, 'Succeeded'))?.split(':')[0];
    let said = '';
    const step = async () => {
      said = await this.#said(phase);
      if ((await end()) !== undefined) return true;
      // Soaks take their time.
      if (phase === 'soak') this.world.clock.skip(MINUTE_MS);
      return false;
    };
    await eventually(step, () => `${phase} to end: ${said}`, 120_000);
    return end();
  }

  #unseen(phase: PhaseName, lostAt: number): string[] {
    const complied = (cluster: string, by: number) =>
      this.world.propagator.events.some(
        (event) => event.policy === `policies/${phase}-p` && event.cluster === cluster && event.what === 'Compliant' && event.atMs <= by,
      );
    const sights = this.world.history(phase).sights.filter(({ atMs }) => atMs >= lostAt);
    const wrong = sights.flatMap(({ atMs, status }) =>
      (status.clusters ?? []).flatMap(({ name, state }) => (state === 'complete' && !complied(name, atMs) ? [name] : [])),
    );
    return [...new Set(wrong)];
  }

  #strangers(phase: PhaseName): string[] {
    const members = new Set(spokeNames(SIZE, phase));
    const named = this.world.memberships.filter(({ upgrade }) => upgrade === phase).flatMap(({ clusters }) => clusters);
    const enforced = this.world.propagator.events.filter(({ policy, what }) => policy === `policies/${phase}-p` && what === 'enforced');
    return [...named, ...enforced.map(({ cluster }) => cluster)].filter((cluster) => !members.has(cluster));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.stop();
  }
}
