import {
  type BackupState,
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeSpec,
  type ClusterGroupUpgradeStatus,
  hasFailedPrecache,
  isFinalBackupState,
  isFinalPrecacheState,
  PIN_LIFE_MS,
  type PinWay,
  type PrecacheState,
  type PrecachingSpec,
} from '@flotilla/api/ran';
import type { Proofs, UpgradePlan } from '@flotilla/rollout';
import {
  countRetries,
  findPause,
  findRetry,
  type GateInput,
  identityOf,
  importCounts,
  judgeGates,
  keepsObjects,
  latePulls,
  namedClusters,
  newcomers,
  remainingClusters,
  retriedPrecaches,
  strongerPins,
  wasCleaned,
} from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { owePins } from '../pins/apply.ts';
import { type BackupJobs, backupTeardown } from '../spoke-jobs/kinds/backup/job.ts';
import { type BackupReport, requestBackup } from '../spoke-jobs/kinds/backup/report.ts';
import type { BackupSettings } from '../spoke-jobs/kinds/backup/settings.ts';
import { type PrecacheJobs, type PrecacheRun, pinsWanted, precacheTeardown } from '../spoke-jobs/kinds/precache/job.ts';
import { rollUp } from '../spoke-jobs/kinds/precache/rollup.ts';
import type { PrecacheSettings } from '../spoke-jobs/kinds/precache/settings.ts';
import { specDigest } from '../spoke-jobs/kinds/precache/spec-digest.ts';
import { Teardown } from '../spoke-jobs/teardown.ts';
import type { SpokeJobCaches } from '../spokes/port/caches.ts';
import { nextProofs, type ProofAsk } from './cache-proofs.ts';
import type { LatePulls, PrecachingReport, ProofReport } from './status-jobs.ts';

/** Dependencies of `UpgradeJobs`. */
interface UpgradeJobsDeps {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Stops teardowns. */
  readonly signal: AbortSignal;
  readonly precaching: { readonly jobs: PrecacheJobs; readonly settings: PrecacheSettings };
  readonly backup: { readonly jobs: BackupJobs; readonly settings: BackupSettings };
}

/** Teardowns of one upgrade's jobs; kept until they are done. */
export interface Teardowns {
  readonly precaching: Teardown;
  readonly backup: Teardown;
}

/** Jobs of a rollout that runs. */
interface LateJobs {
  readonly pulls?: LatePulls;
  readonly proofs?: ProofReport;
}

/** Pre-caching and backup of upgrades, as their reconciler requests them. */
export class UpgradeJobs {
  readonly #deps: UpgradeJobsDeps;

  constructor(deps: UpgradeJobsDeps) {
    this.#deps = deps;
  }

  /**
   * Requests pre-caching by the plan, and reports it. While the plan is refused, the begun jobs go on unchanged.
   * @param ask proofs of clusters that have what was pulled
   */
  precache(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec, plan: UpgradePlan, ask?: ProofAsk): PrecachingReport | undefined {
    const proofs = ask && this.nextProofs(upgrade, ask);
    const run = this.#requestPrecaching(upgrade, spec, plan, proofs);
    if (!run) return undefined;
    const planned = plan.stopped === undefined ? plan.precachingClusters : run.request.clusters;
    // A cluster that is proven or restored has pulled; only a restoration that failed takes it back.
    const stateOf = (cluster: string, state: PrecacheState): PrecacheState =>
      proofs?.byCluster.has(cluster) && !(proofs.byCluster.get(cluster)?.kind === 'pull' && hasFailedPrecache(state)) ? 'Succeeded' : state;
    const states = new Map([...run.spokes].map(([cluster, { state }]) => [cluster, stateOf(cluster, state)]));
    const { talmStrict } = this.#deps.precaching.settings;
    const { clusters, inputs } = run.request;
    const told = plan.stopped === undefined ? proofs?.entries : upgrade.status?.precaching?.proofs;
    const report = { clusters, spokes: run.spokes, retries: inputs.retries ?? {}, proofs: told, pins: inputs.pins };
    return { rollUp: rollUp(planned, states, talmStrict), ...report };
  }

  /** The proofs of an upgrade in its next pass; undefined where there are none. */
  nextProofs(upgrade: ClusterGroupUpgrade, ask: ProofAsk): Proofs | undefined {
    const { jobs } = this.#deps.precaching;
    const { uid = '' } = upgrade.metadata;
    const proofs = nextProofs(upgrade, ask, (cluster) => jobs.hasHubObjects(uid, cluster));
    return proofs.entries.length > 0 || upgrade.status?.precaching?.proofs ? proofs : undefined;
  }

  #requestPrecaching(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    plan: UpgradePlan,
    proofs: Proofs | undefined,
  ): PrecacheRun | undefined {
    const { jobs, settings } = this.#deps.precaching;
    const { uid = '' } = upgrade.metadata;
    const existing = jobs.run(uid);
    const wanted = plan.precaching?.spec;
    const paused = settings.talmStrict ? undefined : findPause(upgrade);
    const { states, retries } = this.#afterRetry(upgrade);
    const stored = proofs ? pick(states, (cluster) => !proofs.renewed.has(cluster)) : states;
    const said = upgrade.status?.precaching?.messages;
    // Begun jobs go on, but nothing begins on clusters that another tenant has now.
    const mayBegin = plan.selection.failure?.reason !== 'ClusterNotBound';
    if (!wanted) {
      const clusters = existing?.request.clusters.filter((cluster) => mayBegin || isBegun(stored[cluster])) ?? [];
      return existing && jobs.request({ ...existing.request, clusters, stored, said, paused });
    }
    const known = existing ? stored : stillValid(upgrade, stored, wanted);
    const clusters = new Set(plan.precachingClusters);
    // A cluster that left the plan may be under way, or have the objects of a job that a pause has stopped.
    const isLeft = (cluster: string) => isBegun(states[cluster]) || (!clusters.has(cluster) && jobs.hasHubObjects(uid, cluster));
    for (const cluster of Object.keys(states)) if (isLeft(cluster)) clusters.add(cluster);
    // As whoever takes a step reads them from the status, so that both decide by the same rules of nodes and of the link.
    const precaching = { ...upgrade.status?.precaching, status: states, spec: wanted, retries };
    const own = jobs.job.inputsIn({ ...upgrade, spec, status: { status: {}, ...upgrade.status, precaching } });
    const inputs = own && { ...own, imports: this.#importsOf(upgrade), proofs: proofs?.byCluster };
    return inputs && jobs.request({ upgrade: identityOf(upgrade), clusters: [...clusters], stored: known, said, inputs, paused });
  }

  /** The stored states but of clusters that are tried again, and how often each was. The same until a status confirms the retry. */
  #afterRetry(
    upgrade: ClusterGroupUpgrade,
  ): Pick<Required<PrecachingReport>, 'retries'> & { states: Readonly<Record<string, PrecacheState>> } {
    const { status: states = {}, retries = {} } = upgrade.status?.precaching ?? {};
    const retry = this.#deps.precaching.settings.talmStrict ? undefined : findRetry(upgrade);
    const again = retry ? retriedPrecaches(states, retry) : [];
    if (again.length === 0) return { states, retries };
    const isAgain = new Set(again);
    return {
      states: pick(states, (cluster) => !isAgain.has(cluster)),
      retries: countRetries(retries, again),
    };
  }

  /** Starts the backup when its gate is next; a begun backup goes on even when a gate closes. */
  backUp(upgrade: ClusterGroupUpgrade, gates: GateInput): BackupReport | undefined {
    const { jobs, settings } = this.#deps.backup;
    const identity = identityOf(upgrade);
    const { status: stored = {}, messages: said } = upgrade.status?.backup ?? {};
    const isBegun = jobs.run(identity.uid) !== undefined || Object.keys(stored).length > 0;
    const isNext = judgeGates(gates)?.gate === 'backup';
    if (!gates.wantsBackup || !(isBegun || isNext)) return undefined;
    const clusters = remainingClusters(gates);
    return requestBackup(jobs, settings, { upgrade: identity, clusters, stored, said, imports: this.#importsOf(upgrade) });
  }

  /** Backs up members of a running rollout that were imported again; undefined where there are none. @param status the next one, which names them */
  backUpLate(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus): BackupReport | undefined {
    const { jobs, settings } = this.#deps.backup;
    const { status: stored = {}, messages: said } = status.backup ?? {};
    const isOpen = (state: BackupState | undefined): boolean => state !== undefined && !isFinalBackupState(state);
    const clusters = settings.talmStrict ? [] : newcomers(status).filter((cluster) => isOpen(stored[cluster]));
    if (clusters.length === 0) return undefined;
    return requestBackup(jobs, settings, { upgrade: identityOf(upgrade), clusters, stored, said, imports: this.#importsOf(upgrade) });
  }

  #importsOf({ status }: ClusterGroupUpgrade): ReadonlyMap<string, number> | undefined {
    return this.#deps.precaching.settings.talmStrict ? undefined : importCounts(status ?? { status: {} });
  }

  /**
   * Requests the jobs of a rollout that runs: pulls of clusters that came to it, and proofs of those whose part is about to begin. Reports each where
   * there are any.
   * @param status the next one, which names these clusters
   */
  precacheLate(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus, proofs?: Proofs): LateJobs {
    const { jobs, settings } = this.#deps.precaching;
    const pulls = settings.talmStrict ? [] : latePulls(status).filter((cluster) => !proofs?.byCluster.has(cluster));
    const inputs = pulls.length > 0 || proofs ? jobs.job.inputsIn({ ...upgrade, status }) : undefined;
    if (!inputs) return {};
    const { uid } = identityOf(upgrade);
    const { status: all = {}, messages: said } = status.precaching ?? {};
    const states = proofs ? pick(all, (cluster) => !proofs.renewed.has(cluster)) : all;
    const unclean = () => Object.keys(all).filter((cluster) => jobs.hasHubObjects(uid, cluster));
    const known = proofs ? [...unclean(), ...proofs.byCluster.keys()] : (jobs.run(uid)?.request.clusters ?? unclean());
    const clusters = [...new Set([...known, ...pulls])];
    const wanted = { ...inputs, imports: this.#importsOf(upgrade), ...(proofs && { proofs: proofs.byCluster }) };
    const paused = findPause(upgrade);
    const { spokes } = jobs.request({ upgrade: identityOf(upgrade), clusters, stored: states, said, inputs: wanted, paused });
    const seen = new Map(Object.entries(states));
    for (const cluster of pulls) seen.set(cluster, spokes.get(cluster)?.state ?? 'NotStarted');
    const isNews = clusters.some((cluster) => spokes.get(cluster)?.state !== states[cluster]);
    return {
      ...(pulls.length > 0 && { pulls: { rollUp: rollUp([...seen.keys()], seen, false), clusters: pulls, spokes } }),
      ...(proofs && { proofs: { entries: proofs.entries, clusters, spokes, isNews } }),
    };
  }

  /** Ends an upgrade's jobs. Resolves once no step of them is under way in this process. */
  async end(uid: string): Promise<void> {
    const { precaching, backup } = this.#deps;
    await Promise.all([precaching.jobs.end(uid), backup.jobs.end(uid)]);
  }

  /**
   * Marks the clusters of an upgrade that has ended, if it had pins: they are removed by themselves from then on (pins/).
   * @returns way of the pins that it had; undefined where there were none, or they were owed before
   */
  async owePins(upgrade: ClusterGroupUpgrade): Promise<PinWay | undefined> {
    const { client, caches, signal, precaching } = this.#deps;
    const { pins, status: states = {} } = upgrade.status?.precaching ?? {};
    // An older CRD keeps no such field.
    const way = strongerPins(pins, pinsWanted(upgrade, precaching.settings));
    if (way === undefined || this.#werePinsOwed(upgrade)) return undefined;
    const image = precaching.jobs.job.inputsIn(upgrade)?.image ?? '';
    await owePins(maybePinned(states, upgrade), { uid: upgrade.metadata.uid ?? '', image, way }, { client, caches, signal });
    return way;
  }

  /** They were owed when the upgrade ended, unless a hub ended it that knew no pins: it has dropped what the status said of them. */
  #werePinsOwed({ status }: ClusterGroupUpgrade): boolean {
    const { completedAt } = status?.status ?? {};
    if (completedAt === undefined) return false;
    return status?.precaching?.pins !== undefined || this.#deps.now() > Date.parse(completedAt) + PIN_LIFE_MS;
  }

  /** Creates the teardowns of an upgrade's jobs. */
  teardowns(upgrade: ClusterGroupUpgrade): Teardowns {
    const { client, now, caches, signal, precaching, backup } = this.#deps;
    const deps = { client, now, caches, signal };
    const identity = identityOf(upgrade);
    return {
      precaching: new Teardown(identity, precacheTeardown(precaching.settings.profile), deps),
      backup: new Teardown(identity, backupTeardown(backup.settings), deps),
    };
  }

  /**
   * Tears the jobs down.
   * @param force drop the objects on the hub without waiting for the spokes
   * @returns time of the next try even without events, milliseconds since the epoch, which may be infinite; undefined when nothing is left
   */
  async tearDown({ precaching, backup }: Teardowns, upgrade: ClusterGroupUpgrade, force: boolean): Promise<number | undefined> {
    const { status } = upgrade;
    const named = namedClusters(upgrade);
    // Spokes that were cleaned at the end may have another upgrade's failed job by now, which is kept for its users.
    const statesOf = (states: Readonly<Record<string, string>> = {}) => (wasCleaned(upgrade) ? {} : states);
    const times = await Promise.all([
      precaching.advance(statesOf(status?.precaching?.status), force, named),
      backup.advance(statesOf(status?.backup?.status), force, named),
    ]);
    const left = times.filter((time) => time !== undefined);
    return left.length > 0 ? Math.min(...left) : undefined;
  }
}

/** Clusters of an upgrade that may have pins. A failed job that is kept for its users has made none on its node, and is not taken from them. */
const maybePinned = (states: Readonly<Record<string, PrecacheState>>, upgrade: ClusterGroupUpgrade): string[] =>
  Object.entries(states).flatMap(([cluster, state]) =>
    isBegun(state) && !(hasFailedPrecache(state) && keepsObjects(upgrade)) ? [cluster] : [],
  );

const isBegun = (state: PrecacheState | undefined): boolean => state !== undefined && state !== 'NotStarted';

/** Drops stored verdicts about another spec: the hub may have stopped between an edit and its status write. */
function stillValid(
  { status }: ClusterGroupUpgrade,
  states: Readonly<Record<string, PrecacheState>>,
  wanted: PrecachingSpec,
): Readonly<Record<string, PrecacheState>> {
  const { spec } = status?.precaching ?? {};
  if (spec && specDigest(spec) === specDigest(wanted)) return states;
  return pick(states, (_, state) => !isFinalPrecacheState(state));
}

const pick = <S>(states: Readonly<Record<string, S>>, wanted: (cluster: string, state: S) => boolean): Record<string, S> =>
  Object.fromEntries(Object.entries(states).filter(([cluster, state]) => wanted(cluster, state)));
