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
import type { Proofs, Sightings, UpgradePlan } from '@flotilla/rollout';
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
  newcomers,
  pauseWait,
  remainingClusters,
  retriedPrecaches,
  strongerPins,
  waitMessage,
} from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import type { SpokeJobCaches } from '../caches.ts';
import type { Cleaning } from '../spokes/cleaning.ts';
import type { BackupJobs } from '../spokes/jobs/kinds/backup/job.ts';
import { type BackupReport, judgeBackup } from '../spokes/jobs/kinds/backup/report.ts';
import type { BackupSettings } from '../spokes/jobs/kinds/backup/settings.ts';
import { type PrecacheInputs, type PrecacheJobs, pinsWanted } from '../spokes/jobs/kinds/precache/job.ts';
import { rollUp } from '../spokes/jobs/kinds/precache/rollup.ts';
import type { PrecacheSettings } from '../spokes/jobs/kinds/precache/settings.ts';
import { specDigest } from '../spokes/jobs/kinds/precache/spec-digest.ts';
import { owePins } from '../spokes/jobs/kinds/unpin/mark.ts';
import type { JobRequest, JudgedJobs } from '../spokes/jobs/part.ts';
import { nextProofs, type ProofAsk } from './cache-proofs.ts';
import type { LatePulls, PrecachingReport, ProofReport } from './status-jobs.ts';

/** Dependencies of `UpgradeJobs`. */
interface UpgradeJobsDeps {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Stops writes. */
  readonly signal: AbortSignal;
  /** Resolves once nothing of an upgrade is written for a spoke in this process. */
  readonly settled: (upgradeUid: string) => Promise<void>;
  readonly precaching: { readonly jobs: PrecacheJobs; readonly settings: PrecacheSettings };
  readonly backup: { readonly jobs: BackupJobs; readonly settings: BackupSettings };
  /** Cleaning after both. */
  readonly cleaning: readonly Pick<Cleaning, 'isClean'>[];
}

/** The jobs of one kind, and what a pass has found of them. */
interface JudgedPrecaching extends JudgedJobs<PrecacheState> {
  readonly clusters: readonly string[];
  readonly inputs: PrecacheInputs;
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
   * Judges pre-caching by the plan. While the plan is refused, the begun jobs go on unchanged.
   * @param ask proofs of clusters that have what was pulled
   */
  precache(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    plan: UpgradePlan,
    { ask, sightings }: { readonly ask: ProofAsk | undefined; readonly sightings: Sightings },
  ): PrecachingReport | undefined {
    const proofs = ask && this.nextProofs(upgrade, ask);
    const judged = this.#judgePrecaching(upgrade, spec, plan, { proofs, sightings });
    if (!judged) return undefined;
    const { clusters, inputs, spokes, at } = judged;
    const planned = plan.stopped === undefined ? plan.precachingClusters : clusters;
    // A cluster that is proven or restored has pulled; only a restoration that failed takes it back.
    const stateOf = (cluster: string, state: PrecacheState): PrecacheState =>
      proofs?.byCluster.has(cluster) && !(proofs.byCluster.get(cluster)?.kind === 'pull' && hasFailedPrecache(state)) ? 'Succeeded' : state;
    const states = new Map([...spokes].map(([cluster, { state }]) => [cluster, stateOf(cluster, state)]));
    const { talmStrict } = this.#deps.precaching.settings;
    const told = plan.stopped === undefined ? proofs?.entries : upgrade.status?.precaching?.proofs;
    const report = { clusters, spokes, retries: inputs.retries ?? {}, proofs: told, pins: inputs.pins, at };
    return { rollUp: rollUp(planned, states, talmStrict), ...report };
  }

  /** The proofs of an upgrade in its next pass; undefined where there are none. */
  nextProofs(upgrade: ClusterGroupUpgrade, ask: ProofAsk): Proofs | undefined {
    const { jobs } = this.#deps.precaching;
    const { uid = '' } = upgrade.metadata;
    const proofs = nextProofs(upgrade, ask, (cluster) => jobs.hasHubObjects(uid, cluster));
    return proofs.entries.length > 0 || upgrade.status?.precaching?.proofs ? proofs : undefined;
  }

  #judgePrecaching(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    plan: UpgradePlan,
    { proofs, sightings }: { readonly proofs: Proofs | undefined; readonly sightings: Sightings },
  ): JudgedPrecaching | undefined {
    const { jobs, settings } = this.#deps.precaching;
    const { uid = '' } = upgrade.metadata;
    const wanted = plan.precaching?.spec;
    const { states, retries } = this.#afterRetry(upgrade);
    const renewed = proofs ? pick(states, (cluster) => !proofs.renewed.has(cluster)) : states;
    const asked = new Set(wanted ? plan.precachingClusters : []);
    const clusters = new Set(asked);
    // A cluster that left the plan may be under way, or have the objects of a job that a pause has stopped. Nothing begins on one that another tenant has.
    const isBound = plan.selection.failure?.reason !== 'ClusterNotBound';
    const isLeft = (cluster: string) => isBegun(states[cluster]) || (isBound && !wanted) || jobs.hasHubObjects(uid, cluster);
    for (const cluster of Object.keys(states)) if (!asked.has(cluster) && isLeft(cluster)) clusters.add(cluster);
    if (clusters.size === 0 && !wanted) return undefined;
    // As whoever takes a step reads them from the status, so that both decide by the same rules of nodes and of the link.
    const precaching = { ...upgrade.status?.precaching, status: states, ...(wanted && { spec: wanted }), retries };
    const own = jobs.job.inputsIn({ ...upgrade, spec, status: { status: {}, ...upgrade.status, precaching } });
    if (!own) return undefined;
    const inputs = { ...own, imports: this.#importsOf(upgrade), proofs: proofs?.byCluster ?? (wanted ? undefined : own.proofs) };
    const stored = wanted ? stillValid(upgrade, renewed, wanted, asked) : renewed;
    const paused = settings.talmStrict ? undefined : pauseOf(upgrade);
    const said = upgrade.status?.precaching?.messages;
    const request = { upgrade: identityOf(upgrade), clusters: [...clusters], stored, said, inputs, paused, sightings };
    return { ...jobs.judge(request), clusters: request.clusters, inputs };
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

  /** Judges the backup when its gate is next; a begun backup goes on even when a gate closes. */
  backUp(upgrade: ClusterGroupUpgrade, gates: GateInput, sightings: Sightings): BackupReport | undefined {
    const { jobs, settings } = this.#deps.backup;
    const { status: stored = {}, messages: said } = upgrade.status?.backup ?? {};
    const isNext = judgeGates(gates)?.gate === 'backup';
    if (!gates.wantsBackup || !(Object.keys(stored).length > 0 || isNext)) return undefined;
    const clusters = remainingClusters(gates);
    const imports = this.#importsOf(upgrade);
    return judgeBackup(jobs, settings, { upgrade: identityOf(upgrade), clusters, stored, said, imports, sightings });
  }

  /** Judges backups of members of a running rollout that were imported again; undefined where there are none. @param status the next one, which names them */
  backUpLate(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus, sightings: Sightings): BackupReport | undefined {
    const { jobs, settings } = this.#deps.backup;
    const { status: stored = {}, messages: said } = status.backup ?? {};
    const isOpen = (state: BackupState | undefined): boolean => state !== undefined && !isFinalBackupState(state);
    const clusters = settings.talmStrict ? [] : newcomers(status).filter((cluster) => isOpen(stored[cluster]));
    if (clusters.length === 0) return undefined;
    const imports = this.#importsOf(upgrade);
    return judgeBackup(jobs, settings, { upgrade: identityOf(upgrade), clusters, stored, said, imports, sightings });
  }

  #importsOf({ status }: ClusterGroupUpgrade): ReadonlyMap<string, number> | undefined {
    return this.#deps.precaching.settings.talmStrict ? undefined : importCounts(status ?? { status: {} });
  }

  /**
   * Judges the jobs of a rollout that runs: pulls of clusters that came to it, and proofs of those whose part is about to begin. Reports each where
   * there are any.
   * @param status the next one, which names these clusters
   */
  precacheLate(
    upgrade: ClusterGroupUpgrade,
    status: ClusterGroupUpgradeStatus,
    { proofs, sightings }: { readonly proofs: Proofs | undefined; readonly sightings: Sightings },
  ): LateJobs {
    const { jobs, settings } = this.#deps.precaching;
    const pulls = settings.talmStrict ? [] : latePulls(status).filter((cluster) => !proofs?.byCluster.has(cluster));
    const own = pulls.length > 0 || proofs ? jobs.job.inputsIn({ ...upgrade, status }) : undefined;
    if (!own) return {};
    const { uid } = identityOf(upgrade);
    const { status: all = {}, messages: said } = status.precaching ?? {};
    const stored = proofs ? pick(all, (cluster) => !proofs.renewed.has(cluster)) : all;
    const unclean = Object.keys(all).filter((cluster) => jobs.hasHubObjects(uid, cluster));
    const clusters = [...new Set([...unclean, ...(proofs?.byCluster.keys() ?? []), ...pulls])];
    const inputs = { ...own, imports: this.#importsOf(upgrade), ...(proofs && { proofs: proofs.byCluster }) };
    const paused = pauseOf(upgrade);
    const { spokes, at } = jobs.judge({ upgrade: identityOf(upgrade), clusters, stored, said, inputs, paused, sightings });
    const seen = new Map(Object.entries(stored));
    for (const cluster of pulls) seen.set(cluster, spokes.get(cluster)?.state ?? 'NotStarted');
    const isNews = clusters.some((cluster) => spokes.get(cluster)?.state !== stored[cluster]);
    return {
      ...(pulls.length > 0 && { pulls: { rollUp: rollUp([...seen.keys()], seen, false), clusters: pulls, spokes, at } }),
      ...(proofs && { proofs: { entries: proofs.entries, clusters, spokes, isNews, at } }),
    };
  }

  /** Ends an upgrade's jobs. Resolves once nothing of it is written for a spoke in this process. */
  async end(uid: string): Promise<void> {
    const { precaching, backup, settled } = this.#deps;
    precaching.jobs.end(uid);
    backup.jobs.end(uid);
    await settled(uid);
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

  /**
   * True when nothing of the jobs delays the end of the upgrade.
   * @param isForced mark absent spokes from now on instead of waiting for them
   */
  isClean(upgrade: ClusterGroupUpgrade, isForced: boolean): boolean {
    // Both are asked, so that both are forced.
    const answers = this.#deps.cleaning.map((cleaning) => cleaning.isClean(upgrade, isForced));
    return answers.every(Boolean);
  }
}

/** Clusters of an upgrade that may have pins. A failed job that is kept for its users has made none on its node, and is not taken from them. */
const maybePinned = (states: Readonly<Record<string, PrecacheState>>, upgrade: ClusterGroupUpgrade): string[] =>
  Object.entries(states).flatMap(([cluster, state]) =>
    isBegun(state) && !(hasFailedPrecache(state) && keepsObjects(upgrade)) ? [cluster] : [],
  );

/** The pause as the clusters that it keeps from beginning say it. */
function pauseOf(upgrade: ClusterGroupUpgrade): JobRequest<never, never>['paused'] {
  const pause = findPause(upgrade);
  return pause && { message: waitMessage(pauseWait(upgrade, pause)), stops: pause.stops };
}

const isBegun = (state: PrecacheState | undefined): boolean => state !== undefined && state !== 'NotStarted';

/** Drops stored verdicts about another spec, of clusters that are asked for. */
function stillValid(
  { status }: ClusterGroupUpgrade,
  states: Readonly<Record<string, PrecacheState>>,
  wanted: PrecachingSpec,
  asked: ReadonlySet<string>,
): Readonly<Record<string, PrecacheState>> {
  const { spec } = status?.precaching ?? {};
  if (spec && specDigest(spec) === specDigest(wanted)) return states;
  return pick(states, (cluster, state) => !asked.has(cluster) || !isFinalPrecacheState(state));
}

const pick = <S>(states: Readonly<Record<string, S>>, wanted: (cluster: string, state: S) => boolean): Record<string, S> =>
  Object.fromEntries(Object.entries(states).filter(([cluster, state]) => wanted(cluster, state)));
