/** Requests backups for an upgrade, and describes them in its status (spec/talm 2.3, 5.1). */

import { conditionTime } from '@flotilla/api';
import { type BackupState, type ClusterGroupUpgradeStatus, explain, isFinalBackupState, textInStatus } from '@flotilla/api/ran';
import type { Sightings, Stall, UpgradeIdentity } from '@flotilla/rollout';
import type { JudgedSpoke } from '../../judge.ts';
import { type RolledUp, rollUpSpokes } from '../../status.ts';
import type { BackupJobs, BackupSettings } from './job.ts';

/** Status, reason and message of condition BackupSuceeded. */
type BackupRollUp = RolledUp<'BackupCompleted' | 'BackupImageMissing'> & { readonly stall?: Stall };

/** Backup of an upgrade, as far as it is known. */
export interface BackupReport {
  /** `finished` when every cluster has its verdict; `failed` are those that leave the plan. */
  readonly rollUp: BackupRollUp;
  /** Clusters of the request, and those whose backup had begun before. */
  readonly clusters: readonly string[];
  readonly spokes: ReadonlyMap<string, JudgedSpoke<BackupState>>;
  /** True where only those were asked about that had begun, because nobody knows who else needs one; default false. */
  readonly isPartial?: boolean;
  /** When it may differ without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

/** Backups that one pass of an upgrade asks about. */
interface BackupRequest {
  readonly upgrade: UpgradeIdentity;
  /** Clusters of the remediation plan. */
  readonly clusters: readonly string[];
  /** `status.backup.status`, as the API server has it. */
  readonly stored: Readonly<Record<string, BackupState>>;
  /** `status.backup.messages`, as the API server has them. */
  readonly said?: Readonly<Record<string, string>> | undefined;
  /** See `BackupInputs`. */
  readonly imports?: ReadonlyMap<string, number> | undefined;
  /** First sightings of this pass. */
  readonly sightings: Sightings;
}

/**
 * Judges the backup of an upgrade. Each pass must ask while the backup is wanted. A hub without an image gives no verdict, so a restart with an image
 * lets the upgrade go on.
 */
export function judgeBackup(
  jobs: BackupJobs,
  { image, talmStrict }: Pick<BackupSettings, 'image' | 'talmStrict'>,
  request: BackupRequest,
): BackupReport {
  const { upgrade, clusters, stored, said, imports, sightings } = request;
  const isBegun = Object.keys(stored).length > 0 || image !== '';
  if (!isBegun) return { rollUp: IMAGE_MISSING, clusters, spokes: new Map() };
  const isUnderWay = (cluster: string) => stored[cluster] !== jobs.job.machine.initial || jobs.hasHubObjects(upgrade.uid, cluster);
  const all = [...new Set([...clusters, ...Object.keys(stored).filter(isUnderWay)])];
  const { spokes, at } = jobs.judge({ upgrade, clusters: all, stored, said, inputs: { image, imports }, sightings });
  const states = new Map([...spokes].map(([cluster, { state }]) => [cluster, state]));
  return { rollUp: rollUpBackup(clusters, states, talmStrict), clusters: all, spokes, at };
}

/**
 * Rolls up the states of the spokes in the plan.
 * @param talmStrict a part is a success, and the upgrade does not end when all spokes fail
 */
export const rollUpBackup = (plan: readonly string[], states: ReadonlyMap<string, BackupState>, talmStrict = false): BackupRollUp =>
  rollUpSpokes<BackupState, 'BackupCompleted'>(plan, states, {
    work: 'Backup',
    completed: 'BackupCompleted',
    isFinal: isFinalBackupState,
    talmStrict,
  });

const NO_IMAGE = {
  reason: 'BackupImageMissing',
  message: explain('BackupImageMissing', 'Backup cannot start: no backup image is configured'),
} as const;
const IMAGE_MISSING: BackupRollUp = { ...NO_IMAGE, status: 'False', failed: [], finished: false, stall: NO_IMAGE };

/** Builds `status.backup`; keeps the previous one while nothing has begun. */
export function describeBackup(
  before: ClusterGroupUpgradeStatus['backup'],
  { clusters, spokes }: BackupReport,
  { now }: { readonly now: Date },
): ClusterGroupUpgradeStatus['backup'] {
  if (spokes.size === 0) return before;
  const status: Record<string, BackupState> = {};
  const messages: Record<string, string> = {};
  for (const cluster of clusters) {
    const spoke = spokes.get(cluster);
    if (!spoke) continue;
    status[cluster] = spoke.state;
    if (spoke.message) messages[cluster] = textInStatus(spoke.message, isFinalBackupState(spoke.state));
  }
  const startedAt = before?.startedAt ?? conditionTime(now.getTime());
  return { startedAt, status, ...(Object.keys(messages).length > 0 && { messages }) };
}
