import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeSpec,
  type ClusterGroupUpgradeStatus,
  isFinalBackupState,
  isFinalPrecacheState,
  type PrecacheState,
  type PrecachingSpec,
} from '@flotilla/api/ran';
import type { UpgradePlan } from '@flotilla/rollout';
import {
  countRetries,
  findPause,
  findRetry,
  type GateInput,
  identityOf,
  judgeGates,
  latePulls,
  namedClusters,
  remainingClusters,
  retriedPrecaches,
} from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { type BackupJobs, backupTeardown } from '../spoke-jobs/kinds/backup/job.ts';
import { type BackupReport, requestBackup } from '../spoke-jobs/kinds/backup/report.ts';
import type { BackupSettings } from '../spoke-jobs/kinds/backup/settings.ts';
import { type PrecacheJobs, type PrecacheRun, precacheTeardown } from '../spoke-jobs/kinds/precache/job.ts';
import { rollUp } from '../spoke-jobs/kinds/precache/rollup.ts';
import type { PrecacheSettings } from '../spoke-jobs/kinds/precache/settings.ts';
import { specDigest } from '../spoke-jobs/kinds/precache/spec-digest.ts';
import { Teardown } from '../spoke-jobs/teardown.ts';
import type { SpokeJobCaches } from '../spokes/port/caches.ts';
import type { LatePulls, PrecachingReport } from './status.ts';

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

/** Pre-caching and backup of upgrades, as their reconciler requests them. */
export class UpgradeJobs {
  readonly #deps: UpgradeJobsDeps;

  constructor(deps: UpgradeJobsDeps) {
    this.#deps = deps;
  }

  /** Requests pre-caching by the plan, and reports it. While the plan is refused, the begun jobs go on unchanged. */
  precache(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec, plan: UpgradePlan): PrecachingReport | undefined {
    const run = this.#requestPrecaching(upgrade, spec, plan);
    if (!run) return undefined;
    const planned = plan.stopped === undefined ? plan.precachingClusters : run.request.clusters;
    const states = new Map([...run.spokes].map(([cluster, { state }]) => [cluster, state]));
    const { talmStrict } = this.#deps.precaching.settings;
    const { clusters, inputs } = run.request;
    return { rollUp: rollUp(planned, states, talmStrict), clusters, spokes: run.spokes, retries: inputs.retries ?? {} };
  }

  #requestPrecaching(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec, plan: UpgradePlan): PrecacheRun | undefined {
    const { jobs, settings } = this.#deps.precaching;
    const { uid = '' } = upgrade.metadata;
    const existing = jobs.run(uid);
    const wanted = plan.precaching?.spec;
    const paused = settings.talmStrict ? undefined : findPause(upgrade);
    const { states: stored, retries } = this.#afterRetry(upgrade);
    // Begun jobs go on, but nothing begins on clusters that another tenant has now.
    const mayBegin = plan.selection.failure?.reason !== 'ClusterNotBound';
    if (!wanted) {
      const clusters = existing?.request.clusters.filter((cluster) => mayBegin || isBegun(stored[cluster])) ?? [];
      return existing && jobs.request({ ...existing.request, clusters, stored, paused });
    }
    const known = existing ? stored : stillValid(upgrade, stored, wanted);
    const clusters = new Set(plan.precachingClusters);
    // A cluster that left the plan may be under way, or have the objects of a job that a pause has stopped.
    const isLeft = (cluster: string) => isBegun(stored[cluster]) || (!clusters.has(cluster) && jobs.hasHubObjects(uid, cluster));
    for (const cluster of Object.keys(stored)) if (isLeft(cluster)) clusters.add(cluster);
    const { image = settings.image } = plan.precaching ?? {};
    const jobSeconds = spec.remediationStrategy.timeout * 60;
    const inputs = { spec: wanted, image, profile: settings.profile, jobSeconds, retries };
    return jobs.request({ upgrade: identityOf(upgrade), clusters: [...clusters], stored: known, inputs, paused });
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
    const stored = upgrade.status?.backup?.status ?? {};
    const isBegun = jobs.run(identity.uid) !== undefined || Object.keys(stored).length > 0;
    const isNext = judgeGates(gates)?.gate === 'backup';
    if (!gates.wantsBackup || !(isBegun || isNext)) return undefined;
    return requestBackup(jobs, settings, { upgrade: identity, clusters: remainingClusters(gates), stored });
  }

  /**
   * Requests the pulls of clusters that came to a rollout that runs; reports the pre-caching where there are any, and undefined where there is none.
   * @param status the next one, which names these clusters
   */
  precacheLate(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus): LatePulls | undefined {
    const { jobs, settings } = this.#deps.precaching;
    const pulls = settings.talmStrict ? [] : latePulls(status);
    const inputs = pulls.length > 0 ? jobs.job.inputsIn({ ...upgrade, status }) : undefined;
    if (!inputs) {
      this.resumeCleaning(upgrade);
      return undefined;
    }
    const { uid } = identityOf(upgrade);
    const states = status.precaching?.status ?? {};
    const known = jobs.run(uid)?.request.clusters ?? Object.keys(states).filter((cluster) => jobs.hasHubObjects(uid, cluster));
    const clusters = [...new Set([...known, ...pulls])];
    const paused = findPause(upgrade);
    const { spokes } = jobs.request({ upgrade: identityOf(upgrade), clusters, stored: states, inputs, paused });
    const seen = new Map(Object.entries(states));
    for (const cluster of pulls) seen.set(cluster, spokes.get(cluster)?.state ?? 'NotStarted');
    return { rollUp: rollUp([...seen.keys()], seen, false), clusters: pulls, spokes };
  }

  /** Resumes the cleaning of spokes after a restart in mid-rollout: spokes are cleaned after their verdict. */
  resumeCleaning(upgrade: ClusterGroupUpgrade): void {
    const { precaching, backup } = this.#deps;
    const identity = identityOf(upgrade);
    const states = upgrade.status?.precaching?.status;
    const inputs = precaching.jobs.job.inputsIn(upgrade);
    if (states && inputs && !precaching.jobs.run(identity.uid)) {
      const stored = pick(states, (cluster, state) => isFinalPrecacheState(state) && precaching.jobs.hasHubObjects(identity.uid, cluster));
      precaching.jobs.request({ upgrade: identity, clusters: Object.keys(stored), stored, inputs });
    }
    const copies = upgrade.status?.backup?.status;
    if (copies && !backup.jobs.run(identity.uid)) {
      const stored = pick(copies, (cluster, state) => isFinalBackupState(state) && backup.jobs.hasHubObjects(identity.uid, cluster));
      if (Object.keys(stored).length > 0) requestBackup(backup.jobs, backup.settings, { upgrade: identity, clusters: [], stored });
    }
  }

  /** Reports a stored status to the engines: spokes are cleaned only after that. */
  noteStored(uid: string, status: ClusterGroupUpgradeStatus | undefined): void {
    const { precaching, backup } = this.#deps;
    precaching.jobs.noteStored(uid, status?.precaching?.status ?? {});
    backup.jobs.noteStored(uid, status?.backup?.status ?? {});
  }

  /** Ends an upgrade's jobs. */
  end(uid: string): void {
    this.#deps.precaching.jobs.end(uid);
    this.#deps.backup.jobs.end(uid);
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
   * Tears the jobs down; true when nothing is left.
   * @param force drop the objects on the hub without waiting for the spokes
   */
  async tearDown({ precaching, backup }: Teardowns, upgrade: ClusterGroupUpgrade, force: boolean): Promise<boolean> {
    this.end(upgrade.metadata.uid ?? '');
    const { status } = upgrade;
    const named = namedClusters(upgrade);
    const done = await Promise.all([
      precaching.advance(status?.precaching?.status ?? {}, force, named),
      backup.advance(status?.backup?.status ?? {}, force, named),
    ]);
    return done.every(Boolean);
  }
}

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
