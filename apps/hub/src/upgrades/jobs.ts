import {
  type BackupState,
  type ClusterGroupUpgrade,
  isFinalBackupState,
  isFinalPrecacheState,
  type PinWay,
  type PrecacheState,
} from '@flotilla/api/ran';
import {
  begunClusters,
  countRetries,
  findPause,
  findRetry,
  type GateInput,
  identityOf,
  importCounts,
  judgeGates,
  latePulls,
  newcomers,
  type PlacesToAsk,
  type Proofs,
  pauseWait,
  remainingClusters,
  retriedPrecaches,
  type Sightings,
  type UpgradePlan,
  waitMessage,
} from '@flotilla/rollout';
import type { Cleaning } from '../spokes/cleaning.ts';
import type { JudgedSpoke } from '../spokes/jobs/judge.ts';
import type { BackupJobs, BackupSettings } from '../spokes/jobs/kinds/backup/job.ts';
import { type BackupReport, judgeBackup } from '../spokes/jobs/kinds/backup/report.ts';
import type { PrecacheSettings } from '../spokes/jobs/kinds/precache/inputs.ts';
import { type PrecacheJobs, pinsWanted } from '../spokes/jobs/kinds/precache/job.ts';
import { specDigest } from '../spokes/jobs/kinds/precache/manifests.ts';
import { owePinsOf, type PinsDeps } from '../spokes/jobs/kinds/unpin/mark.ts';
import type { JudgedJobs } from '../spokes/jobs/part.ts';
import { rollUp } from '../spokes/jobs/status.ts';
import { nextProofs, type ProofAsk, stateOfPull } from './cache-proofs.ts';
import type { LatePulls, PrecachingReport, RolloutJobs } from './status-jobs.ts';

/** Dependencies of `UpgradeJobs`. */
interface UpgradeJobsDeps extends PinsDeps {
  /** Resolves once nothing of an upgrade is written for a spoke in this process. */
  readonly settled: (upgradeUid: string) => Promise<void>;
  readonly precaching: { readonly jobs: PrecacheJobs; readonly settings: PrecacheSettings };
  readonly backup: { readonly jobs: BackupJobs; readonly settings: BackupSettings };
  /** Cleaning after both. */
  readonly cleaning: readonly Pick<Cleaning, 'isClean'>[];
}

/** Surroundings of the jobs in one pass. */
interface JobPass {
  readonly places?: PlacesToAsk | undefined;
  readonly sightings: Sightings;
}

/** A cluster that nobody asks about, because nothing may begin there. */
const IDLE: JudgedSpoke<PrecacheState> = { state: 'NotStarted', message: undefined };

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
    plan: UpgradePlan,
    { ask, ...pass }: JobPass & { readonly ask: ProofAsk | undefined },
  ): PrecachingReport | undefined {
    const { jobs, settings } = this.#deps.precaching;
    const { talmStrict } = settings;
    const { uid } = identityOf(upgrade);
    const { status: stored = { status: {} } } = upgrade;
    const { status: all = {}, spec, retries, proofs: before } = stored.precaching ?? {};
    const wanted = plan.precaching?.spec;
    const proofs = ask && this.nextProofs(upgrade, ask);
    // A retry waits for a valid plan: a cluster that it leaves out of the states would be missing from the roll-up.
    const isRefused = plan.stopped !== undefined;
    const retry = talmStrict || isRefused ? undefined : findRetry(upgrade);
    const again = new Set(retry && retriedPrecaches(all, retry));
    const states = pick(all, (cluster) => !again.has(cluster));
    const asked = new Set(wanted ? plan.precachingClusters : []);
    // A cluster that left the plan may be under way, or have the objects of a job that a pause has stopped. Nothing begins on one that another tenant has.
    const isBound = plan.selection.failure?.reason !== 'ClusterNotBound';
    const isLeft = (cluster: string) => states[cluster] !== 'NotStarted' || (isBound && !wanted) || jobs.hasHubObjects(uid, cluster);
    const clusters = [...new Set([...asked, ...Object.keys(states).filter(isLeft)])];
    if (clusters.length === 0 && !wanted) return undefined;
    const next = {
      ...stored.precaching,
      ...(wanted && { spec: wanted }),
      retries: countRetries(retries, [...again]),
      proofs: isRefused ? before : proofs?.entries,
    };
    // A verdict about another spec is none, and neither is one about the job before a new proof.
    const isOther = wanted !== undefined && (spec === undefined || specDigest(spec) !== specDigest(wanted));
    const isAnother = (cluster: string, state: PrecacheState) =>
      proofs?.renewed.has(cluster) || (isOther && asked.has(cluster) && isFinalPrecacheState(state));
    const about = pick(states, (cluster, state) => !isAnother(cluster, state));
    const judged = this.#judge({ ...upgrade, status: { ...stored, precaching: next } }, clusters, about, pass);
    if (!judged) return undefined;
    // Those that may not begin for now have their images still to come.
    const idle = isRefused ? Object.keys(states).filter((cluster) => !isLeft(cluster)) : [];
    const spokes = new Map([...judged.spokes, ...idle.map((cluster) => [cluster, IDLE] as const)]);
    const seen = new Map([...spokes].map(([cluster, { state }]) => [cluster, stateOfPull(state, proofs?.byCluster.get(cluster))]));
    const known = [...clusters, ...idle];
    const report = { clusters: known, retries: next.retries, proofs: next.proofs, pins: pinsWanted(upgrade, settings) };
    return { rollUp: rollUp(isRefused ? known : plan.precachingClusters, seen, talmStrict), spokes, at: judged.at, ...report };
  }

  /** The proofs of an upgrade in its next pass; undefined where there are none. */
  nextProofs(upgrade: ClusterGroupUpgrade, ask: ProofAsk): Proofs | undefined {
    const { uid } = identityOf(upgrade);
    return nextProofs(upgrade, ask, (cluster) => this.#deps.precaching.jobs.hasHubObjects(uid, cluster));
  }

  /**
   * Judges the jobs of a rollout that runs: pulls of clusters that came to it, proofs of those whose part is about to begin, and what a cluster that
   * left the plan has begun: its end frees the cluster for others. Reports each where there are any.
   * @param upgrade with its next status, which names these clusters
   */
  precacheLate(
    upgrade: ClusterGroupUpgrade,
    { proofs, ...pass }: JobPass & { readonly proofs: Proofs | undefined },
  ): { readonly pulls?: LatePulls; readonly jobs?: RolloutJobs } {
    const { jobs, settings } = this.#deps.precaching;
    const { status = { status: {} } } = upgrade;
    const { uid } = identityOf(upgrade);
    const { status: states = {} } = status.precaching ?? {};
    const pulls = settings.talmStrict ? [] : latePulls(status).filter((cluster) => !proofs?.byCluster.has(cluster));
    const begun = Object.keys(pick(states, (_, state) => state !== 'NotStarted' && !isFinalPrecacheState(state)));
    const late = new Set(pulls);
    const hasOthers = proofs !== undefined || begun.some((cluster) => !late.has(cluster));
    if (pulls.length === 0 && !hasOthers) return {};
    const stored = pick(states, (cluster) => !proofs?.renewed.has(cluster));
    const unclean = Object.keys(states).filter((cluster) => jobs.hasHubObjects(uid, cluster));
    const clusters = [...new Set([...unclean, ...begun, ...(proofs?.byCluster.keys() ?? []), ...pulls])];
    const precaching = { ...status.precaching, ...(proofs && { proofs: proofs.entries }) };
    const judged = this.#judge({ ...upgrade, status: { ...status, precaching } }, clusters, stored, pass);
    if (!judged) return {};
    const { spokes, at } = judged;
    const members = new Set([...(status.remediationPlan ?? []).flat(), ...begunClusters(status)]);
    // One that is left out before it has pulled is waited for by nobody.
    const recorded = new Set(status.clusters?.map(({ name }) => name));
    const isSeen = (cluster: string, state: PrecacheState) =>
      members.has(cluster) && (isFinalPrecacheState(state) || !recorded.has(cluster));
    const seen = new Map(Object.entries(pick(stored, isSeen)));
    for (const cluster of pulls) seen.set(cluster, spokes.get(cluster)?.state ?? 'NotStarted');
    const isNews = clusters.some((cluster) => spokes.get(cluster)?.state !== stored[cluster]);
    return {
      ...(pulls.length > 0 && { pulls: { rollUp: rollUp([...seen.keys()], seen, false), clusters: pulls, spokes, at } }),
      ...(hasOthers && { jobs: { proofs: proofs?.entries, clusters, spokes, isNews, at } }),
    };
  }

  /** Judges by what the next status has of pre-caching, so that both say the same. @param stored states that are about it */
  #judge(
    upgrade: ClusterGroupUpgrade,
    clusters: readonly string[],
    stored: Readonly<Record<string, PrecacheState>>,
    pass: JobPass,
  ): JudgedJobs<PrecacheState> | undefined {
    const { jobs, settings } = this.#deps.precaching;
    const inputs = jobs.job.inputsIn(upgrade);
    const pause = settings.talmStrict ? undefined : findPause(upgrade);
    const paused = pause && { message: waitMessage(pauseWait(upgrade, pause)), stops: pause.stops };
    const said = upgrade.status?.precaching?.messages;
    return inputs && jobs.judge({ upgrade: identityOf(upgrade), clusters, stored, said, inputs, paused, ...pass });
  }

  /** Judges the backup when its gate is next; a begun backup goes on even when a gate closes. */
  backUp(upgrade: ClusterGroupUpgrade, gates: GateInput, sightings: Sightings): BackupReport | undefined {
    const begun = Object.keys(upgrade.status?.backup?.status ?? {});
    if (!gates.wantsBackup || !(begun.length > 0 || judgeGates(gates)?.gate === 'backup')) return undefined;
    // While a filter is not known nobody is eligible, and a backup of nobody is no success.
    const { eligible, first: open } = gates.blocking;
    const isPartial = eligible !== undefined && open !== undefined;
    return { ...this.#judgeBackup(upgrade, isPartial ? begun : remainingClusters(gates), sightings), isPartial };
  }

  /**
   * Judges backups of a running rollout: of members that were imported again, and those that clusters which left the plan have begun. Undefined where
   * there are none.
   * @param upgrade with its next status, which names them
   */
  backUpLate(upgrade: ClusterGroupUpgrade, sightings: Sightings): BackupReport | undefined {
    const { jobs, settings } = this.#deps.backup;
    const { uid } = identityOf(upgrade);
    const { status = { status: {} } } = upgrade;
    const { status: states = {} } = status.backup ?? {};
    const isOpen = (state: BackupState | undefined): boolean => state !== undefined && !isFinalBackupState(state);
    const clusters = settings.talmStrict ? [] : newcomers(status).filter((cluster) => isOpen(states[cluster]));
    const isBegun = ([cluster, state]: [string, BackupState]): boolean =>
      isOpen(state) && (state !== jobs.job.machine.initial || jobs.hasHubObjects(uid, cluster));
    return clusters.length > 0 || Object.entries(states).some(isBegun) ? this.#judgeBackup(upgrade, clusters, sightings) : undefined;
  }

  #judgeBackup(upgrade: ClusterGroupUpgrade, clusters: readonly string[], sightings: Sightings): BackupReport {
    const { jobs, settings } = this.#deps.backup;
    const { status: stored = {}, messages: said } = upgrade.status?.backup ?? {};
    const imports = settings.talmStrict || !upgrade.status ? undefined : importCounts(upgrade.status);
    return judgeBackup(jobs, settings, { upgrade: identityOf(upgrade), clusters, stored, said, imports, sightings });
  }

  /** Ends an upgrade's jobs. Resolves once nothing of it is written for a spoke in this process. */
  async end(uid: string): Promise<void> {
    const { precaching, backup, settled } = this.#deps;
    precaching.jobs.end(uid);
    backup.jobs.end(uid);
    await settled(uid);
  }

  /** Has the pins of an upgrade that has ended removed. @returns as `owePinsOf` */
  owePins(upgrade: ClusterGroupUpgrade): Promise<PinWay | undefined> {
    return owePinsOf(upgrade, this.#deps);
  }

  /**
   * True when nothing of the jobs delays the end of the upgrade.
   * @param isForced mark absent spokes from now on instead of waiting for them
   */
  isClean(upgrade: ClusterGroupUpgrade, isForced: boolean): boolean {
    // Both are asked, so that both are forced.
    return this.#deps.cleaning.map((cleaning) => cleaning.isClean(upgrade, isForced)).every(Boolean);
  }
}

const pick = <S>(states: Readonly<Record<string, S>>, wanted: (cluster: string, state: S) => boolean): Record<string, S> =>
  Object.fromEntries(Object.entries(states).filter(([cluster, state]) => wanted(cluster, state)));
