/** Members that were imported again, as another machine by the same name: what was concluded about the one before is taken back. Pure. */
import {
  type BackupState,
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  explain,
  isFinalBackupState,
  isFinalPrecacheState,
  type PrecacheState,
} from '@flotilla/api/ran';
import { findImportedAgain, formatImports, importCounts, readImports, type UidOf } from '../clusters/imports.ts';
import { RecordState } from '../upgrade/model.ts';
import { begunClusters, isRunning } from '../upgrade/stage.ts';
import type { Wait } from '../waits/wait.ts';
import { appendClusters, startedBatches, without, withoutParts, withPulls } from './late-clusters.ts';

type Status = ClusterGroupUpgradeStatus;

/**
 * The upgrade without what its status concludes about machines that another has replaced since; the same object where there are none. Clusters whose part
 * has ended in an earlier batch, or without success, keep their record, unless they have to be enforced again. A status without uids is believed: an
 * older hub has written it.
 * @param hasFallenBack its part was complete, and it does not comply any more; default: none is known to
 */
export function takeBackImported(
  upgrade: ClusterGroupUpgrade,
  uidOf: UidOf,
  hasFallenBack: (cluster: string) => boolean = () => false,
): ClusterGroupUpgrade {
  const { status } = upgrade;
  if (!status?.clusterUids) return upgrade;
  const isRun = isRunning(upgrade);
  const isOpen = isRun ? openIn(status, hasFallenBack) : () => true;
  const imports = readImports(status);
  const again = new Map([...findImportedAgain(imports, uidOf)].filter(([cluster]) => isOpen(cluster)));
  if (again.size === 0) return upgrade;
  const cluster = (name: string): boolean => again.has(name);
  const left = withoutJobs(isRun ? withoutPart(status, again) : status, cluster);
  return { ...upgrade, status: { ...left, clusterUids: formatImports(left, new Map([...imports, ...again])) } };
}

/** Members of a rollout whose part may begin anew: without a record, or complete in the batch that runs, or complete and fallen back. */
function openIn(
  { remediationPlan = [], clusters = [], status: times }: Status,
  hasFallenBack: (cluster: string) => boolean,
): (cluster: string) => boolean {
  const records = new Map(clusters.map(({ name, state }) => [name, state]));
  const started = startedBatches(times);
  const running = new Set(started > 0 && started === times.currentBatch ? remediationPlan[started - 1] : []);
  return (cluster) => {
    const state = records.get(cluster);
    return state === undefined || (state === RecordState.complete && (running.has(cluster) || hasFallenBack(cluster)));
  };
}

/** States of jobs are those of machines that nothing was done for. */
function withoutJobs(status: Status, isAgain: (cluster: string) => boolean): Status {
  const { precaching, backup } = status;
  const anew = <T>(states: Readonly<Record<string, T>> | undefined, initial: T): Record<string, T> | undefined =>
    states && Object.fromEntries(Object.entries(states).map(([cluster, state]) => [cluster, isAgain(cluster) ? initial : state]));
  const proofs = precaching?.proofs?.map((proof) => ({ ...proof, clusters: proof.clusters.filter((cluster) => !isAgain(cluster)) }));
  return {
    ...status,
    ...(precaching && {
      precaching: {
        ...precaching,
        status: anew<PrecacheState>(precaching.status, 'NotStarted'),
        messages: without(precaching.messages, isAgain),
        progress: without(precaching.progress, isAgain),
        ...(proofs && { proofs }),
      },
    }),
    ...(backup && {
      backup: {
        ...backup,
        status: anew<BackupState>(backup.status, 'PreparingToStart'),
        messages: without(backup.messages, isAgain),
      },
    }),
  };
}

/** Clusters in their batch, or in one to come, have not begun; others that were complete or under way come last, as those that join. */
function withoutPart(status: Status, again: ReadonlyMap<string, unknown>): Status {
  const { remediationPlan: plan = [], status: times } = status;
  const ahead = new Set(plan.slice(Math.max((times.currentBatch ?? 0) - 1, 0)).flat());
  const begun = begunClusters(status);
  const last = [...again.keys()].filter((cluster) => !ahead.has(cluster) && begun.has(cluster));
  const isAgain = (cluster: string) => again.has(cluster);
  const next = { ...withoutParts(status, isAgain), messages: without(status.messages ?? {}, isAgain) };
  return withPulls(appendClusters(next, last), last);
}

/** Facts about a newcomer that its status does not tell. */
interface NewcomerFacts {
  /** Its first edits are seen on it. */
  readonly isPrepared: boolean;
  /** A work of the upgrade from before is still there. */
  readonly hasWork: boolean;
}

/** Says why a newcomer does not begin; undefined once it has what its batch wants of it. */
export function describeNewcomer(status: Status, cluster: string, { isPrepared, hasWork }: NewcomerFacts): Wait | undefined {
  const waits = (what: string): Wait => ({ cause: 'refused', says: explain('ImportedAgain', `${IMPORTED_AGAIN}: ${what}`, { cluster }) });
  const pulls = status.precaching?.status?.[cluster];
  if (pulls !== undefined && !isFinalPrecacheState(pulls)) return waits('its images are pulled before its part begins');
  const backup = status.backup?.status?.[cluster];
  if (backup !== undefined && !isFinalBackupState(backup)) return waits('it is backed up before its part begins');
  if (hasWork) return waits('what the upgrade had placed on the one before is removed');
  return isPrepared ? undefined : waits('it gets its first edits');
}

const IMPORTED_AGAIN = 'it was imported again: another ManagedCluster has its name, and nothing is known of it';

/** The status that a pass leaves, with the ManagedClusters that it is about. @param before the status that the pass went by */
export function withImports(status: Status, before: Status | undefined, uidOf: UidOf): Status {
  const clusterUids = formatImports(status, before ? readImports(before) : new Map(), uidOf);
  return withImportMessages({ ...status, clusterUids });
}

/** Says of jobs that are made again why they are, where nothing else is said of them. */
function withImportMessages(status: Status): Status {
  const counts = importCounts(status);
  if (counts.size === 0) return status;
  const { precaching, backup } = status;
  return {
    ...status,
    ...(precaching && { precaching: { ...precaching, messages: told([...counts.keys()], precaching, isFinalPrecacheState) } }),
    ...(backup && { backup: { ...backup, messages: told([...counts.keys()], backup, isFinalBackupState) } }),
  };
}

function told<S extends string>(
  clusters: readonly string[],
  { status = {}, messages = {} }: { readonly status?: Readonly<Record<string, S>>; readonly messages?: Readonly<Record<string, string>> },
  isFinal: (state: S) => boolean,
): Record<string, string> | undefined {
  const silent = clusters.filter((cluster) => {
    const state = status[cluster];
    return state !== undefined && !isFinal(state) && messages[cluster] === undefined;
  });
  const all = { ...messages, ...Object.fromEntries(silent.map((cluster) => [cluster, IMPORTED_AGAIN])) };
  return Object.keys(all).length > 0 ? all : undefined;
}
