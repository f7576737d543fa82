/**
 * A hub that is lost in the middle of ten upgrades, one in each phase, and restored object by object: each upgrade's objects come back in an order of
 * its own, with new uids, with or without its status. One play is one world.
 */
import { type KubeObject, Label, type Resource } from '@flotilla/api';
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
import { eventually } from '@flotilla/pace/testing';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { upgradeRef } from '../world.ts';
import { batches, orderOf, type Phase, type PhaseName, phaseNames, phases, SIZE, WORK_SPEC } from './restore-phases.ts';
import { RolloutWorld, spokeNames } from './world.ts';

const MINUTE_MS = 60_000;
/** Compliance seconds of a cluster that never gets there before the loss. */
const NEVER = { never: true };

/** One cell: an upgrade in its phase, the order of its objects, and whether its status comes back. */
export interface Cell {
  readonly phase: PhaseName;
  /** Order, from 0. */
  readonly order: number;
  readonly hasStatus: boolean;
}

interface Saved {
  readonly upgrade: ClusterGroupUpgrade;
  readonly clusters: readonly ManagedCluster[];
  /** Jobs that each cluster had had. */
  readonly jobs: ReadonlyMap<string, number>;
}

interface LostCell extends Cell {
  readonly saved: Saved;
}

/** Observations of one cell. */
interface CellResult {
  /** Clusters that the status called complete before they complied, or their jobs succeeded before one had. */
  readonly unseen: readonly string[];
  /** Clusters that got a second job after the loss, or one that nothing asked for; clusters of an earlier batch that were enforced again. */
  readonly twice: readonly string[];
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
  /** Time after which everything is of the restored hub, milliseconds since the epoch. */
  #lostAt = Number.POSITIVE_INFINITY;

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
    const lost = await Promise.all(cells.map(async (cell) => ({ ...cell, saved: await this.#lose(cell.phase) })));
    this.#lostAt = Date.now();
    if (isRunning) await world.startHub();
    await Promise.all(lost.map((cell) => this.#restore(cell)));
    if (!isRunning) await world.startHub();
    await Promise.all(lost.map((cell) => this.#untilTold(cell)));
    const told = await Promise.all(
      lost.map(async (cell) => ({ ...cell, said: await this.#said(cell.phase), early: this.#early(cell.phase) })),
    );
    await this.#release(cells);
    const ends = new Map<PhaseName, string | undefined>();
    const end = async ({ phase }: Cell) => ends.set(phase, await this.#untilEnded(phase));
    // Time that a soak takes is more than a job of another upgrade has.
    await Promise.all(cells.filter(({ phase }) => phase !== 'soak').map(end));
    await Promise.all(cells.filter(({ phase }) => phase === 'soak').map(end));
    return new Map(
      told.map(({ said, early, ...cell }) => {
        const { phase } = cell;
        const seen = { unseen: this.#unseen(phase), twice: this.#twice(cell), strangers: this.#strangers(phase) };
        return [phase, { ...seen, early, said, end: ends.get(phase) }];
      }),
    );
  }

  async #begin(name: PhaseName): Promise<void> {
    const { spec, annotations, policy, work, held, jobsHeld }: Phase = phases[name];
    const { world } = this;
    const clusters = spokeNames(SIZE, name);
    if (held !== undefined) world.propagator.script(`policies/${name}-p`, `${name}-${held}`, NEVER);
    if (jobsHeld) for (const cluster of clusters) world.spokes.setFaults(cluster, { jobsHeld });
    await world.policies(clusters, { [`${name}-p`]: { decided: true, ...(policy && { annotations: policy }) } });
    const wanted = { remediationStrategy: batches(), ...(work && WORK_SPEC[work]), ...spec };
    await world.upgrade(name, clusters, [`${name}-p`], wanted, annotations?.(world));
  }

  async #untilThere(name: PhaseName): Promise<void> {
    const { isThere }: Phase = phases[name];
    let last: ClusterGroupUpgrade['status'];
    const ask = async () => {
      last = (await this.world.get(name))?.status;
      return last !== undefined && isThere(last, name);
    };
    await eventually(ask, () => `${name} to be in its phase, is ${JSON.stringify(last?.conditions?.at(-1))}`, 60_000);
  }

  /** Takes away all objects of an upgrade, those that the hub made too; returns those that a backup has. */
  async #lose(name: PhaseName): Promise<Saved> {
    const { client, spokes, propagator } = this.world;
    const upgrade = await client.get(ClusterGroupUpgrade, upgradeRef(name));
    if (!upgrade) throw new Error(`${name} is not there`);
    await client.patch(ClusterGroupUpgrade, upgradeRef(name), { metadata: { finalizers: null } }, { type: 'merge' });
    await client.delete(ClusterGroupUpgrade, upgradeRef(name));
    const { placements, bindings } = await this.world.objectsOf(name);
    for (const { metadata } of bindings) await client.delete(PlacementBinding, metadata);
    for (const { metadata } of placements) await client.delete(Placement, metadata);
    const own = { namespace: 'policies', name: `${name}-p` };
    const policy = `policies/${own.name}`;
    // A cluster keeps what its policies did there, whatever becomes of the hub.
    for (const cluster of spokeNames(SIZE, name))
      if (propagator.state(policy, cluster) === 'Compliant') propagator.script(policy, cluster, { already: true });
    for (const kind of [PlacementBinding, Placement, Policy]) await client.delete(kind, own);
    await client.delete(PlacementDecision, { ...own, name: `${own.name}-decision-1` });
    const clusters: ManagedCluster[] = [];
    for (const cluster of spokeNames(SIZE, name)) {
      const found = await client.get(ManagedCluster, { name: cluster });
      if (found) clusters.push(found);
      await client.delete(ManagedCluster, { name: cluster });
      await this.#clear(cluster);
    }
    return { upgrade, clusters, jobs: new Map(spokeNames(SIZE, name).map((cluster) => [cluster, spokes.jobsCreated(cluster).length])) };
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

  async #restore({ phase, order, hasStatus, saved }: LostCell): Promise<void> {
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

  /** Waits until the hub has taken the copy up and is where it was; without a status, until it says that it waits for it. */
  async #untilTold({ phase, hasStatus, saved }: LostCell): Promise<void> {
    const { enforced, isThere }: Phase = phases[phase];
    const isTold = async (): Promise<boolean> => {
      if (!hasStatus)
        return /^False WaitingForMembers: The object was made again/.test((await this.world.condition(phase, 'ClustersSelected')) ?? '');
      const { metadata, status } = (await this.world.get(phase)) ?? {};
      if (!metadata || !status || !metadata.labels?.[Label.takenUp]?.startsWith(`${metadata.uid}.`) || !isThere(status, phase))
        return false;
      // The hub has looked at the restored clusters, which have other uids; one that has ended needs none.
      if (phase !== 'ended' && status.clusterUids === saved.upgrade.status?.clusterUids) return false;
      return enforced === undefined || this.#enforcedAgain(phase, `${phase}-${enforced}`);
    };
    const said = async () => JSON.stringify((await this.world.get(phase))?.status);
    let last = '';
    const ask = async () => {
      last = await said();
      return isTold();
    };
    await eventually(ask, () => `${phase} ${hasStatus ? 'with' : 'without'} status to say where it is: ${last}`, 60_000);
  }

  #enforcedAgain(phase: PhaseName, cluster: string): boolean {
    const policy = `policies/${phase}-p`;
    return this.world.propagator.events.some(
      (event) => event.policy === policy && event.cluster === cluster && event.what === 'enforced' && event.atMs >= this.#lostAt,
    );
  }

  async #said(phase: PhaseName): Promise<string> {
    const { status } = (await this.world.get(phase)) ?? {};
    const conditions = (status?.conditions ?? []).map(({ type, status: is, reason, message }) => `${type}=${is} ${reason}: ${message}`);
    return [...conditions, ...Object.values(status?.messages ?? {}), ...Object.values(status?.precaching?.messages ?? {})].join('\n');
  }

  /** Clusters behind one that is held, or of an upgrade that must not have begun, that were enforced. */
  #early(phase: PhaseName): string[] {
    const { enforced = 0 }: Phase = phases[phase];
    const behind = phase === 'ended' ? [] : spokeNames(SIZE, phase).slice(enforced);
    return behind.filter((cluster) => this.world.happened(`${phase}-p`, cluster).includes('enforced'));
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
    await Promise.all(cells.map((cell) => this.#untilJobsEnded(cell)));
    world.clock.skip(31 * MINUTE_MS);
  }

  /** The API server's clock is not put ahead, and a backup has less time by it than is skipped: one without its status begins anew by hand. */
  async #untilJobsEnded({ phase, hasStatus }: Cell): Promise<void> {
    const { work, jobsHeld }: Phase = phases[phase];
    if (!work || !jobsHeld || (work === 'precaching' && !hasStatus)) return;
    if (!hasStatus) {
      const metadata = { labels: { [Label.takenUp]: null } };
      await this.world.client.patch(ClusterGroupUpgrade, upgradeRef(phase), { metadata }, { type: 'merge' });
    }
    const states = async () => Object.values((await this.world.get(phase))?.status?.[work]?.status ?? {});
    let last: readonly string[] = [];
    const ask = async () => {
      last = await states();
      return last.length === SIZE && last.every((state) => state === 'Succeeded');
    };
    await eventually(ask, () => `the jobs of ${phase} to end: ${last.join(', ')}`, 60_000);
  }

  async #untilEnded(phase: PhaseName): Promise<string | undefined> {
    const end = async () => (await this.world.condition(phase, 'Succeeded'))?.split(':')[0];
    let said = '';
    const step = async () => {
      said = await this.#said(phase);
      if ((await end()) !== undefined) return true;
      if (phase === 'soak') this.world.clock.skip(MINUTE_MS);
      return false;
    };
    await eventually(step, () => `${phase} to end: ${said}`, 120_000);
    return end();
  }

  #unseen(phase: PhaseName): string[] {
    const { work }: Phase = phases[phase];
    const { propagator, spokes } = this.world;
    const complied = (cluster: string, by: number) =>
      propagator.events.some(
        (event) => event.policy === `policies/${phase}-p` && event.cluster === cluster && event.what === 'Compliant' && event.atMs <= by,
      );
    const succeeded = (cluster: string, by: number) => spokes.events(cluster).some(({ type, at }) => type === 'job-succeeded' && at <= by);
    const sights = this.world.history(phase).sights.filter(({ atMs }) => atMs >= this.#lostAt);
    const wrong = sights.flatMap(({ atMs, status: { clusters = [], ...status } }) => [
      ...clusters.flatMap(({ name, state }) => (state === 'complete' && !complied(name, atMs) ? [`${name} complete`] : [])),
      ...Object.entries((work && status[work]?.status) ?? {}).flatMap(([name, state]) =>
        state === 'Succeeded' && !succeeded(name, atMs) ? [`${name} ${work}`] : [],
      ),
    ]);
    return [...new Set(wrong)];
  }

  #twice({ phase, hasStatus, saved }: LostCell): string[] {
    const { work }: Phase = phases[phase];
    const records = hasStatus ? (saved.upgrade.status?.clusters ?? []) : [];
    const done = new Set(records.flatMap(({ name, state }) => (state === 'complete' ? [name] : [])));
    return spokeNames(SIZE, phase).flatMap((cluster) => {
      const jobs = this.world.spokes.jobsCreated(cluster).length - (saved.jobs.get(cluster) ?? 0);
      const tooMany = jobs > (work && !done.has(cluster) ? 1 : 0) ? [`${cluster}: ${jobs} jobs`] : [];
      return done.has(cluster) && this.#enforcedAgain(phase, cluster) ? [...tooMany, `${cluster}: enforced`] : tooMany;
    });
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
