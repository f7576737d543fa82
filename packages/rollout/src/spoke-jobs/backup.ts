/** Backup of one spoke (spec/talm 5.1; the diagram in apps/hub/README.md is generated from this machine). */
import { BackupState } from '@flotilla/api/ran';
import { createSpokeJobMachine } from './spoke-job.ts';

/** Backup of one spoke. The reference knows no state before PreparingToStart: a spoke that waits for another upgrade waits there. */
export const backupJobMachine = createSpokeJobMachine<BackupState>({
  id: 'backup',
  states: BackupState,
  initial: 'PreparingToStart',
  timeout: 'BackupTimeout',
  followsSpec: true,
});

/** The same as the reference takes it: the deletions are made in `PreparingToStart` without looking whether there is anything to delete. */
export const strictBackupJobMachine = createSpokeJobMachine<BackupState>({
  id: 'strictBackup',
  states: BackupState,
  initial: 'PreparingToStart',
  timeout: 'BackupTimeout',
  cleansFirst: true,
});
