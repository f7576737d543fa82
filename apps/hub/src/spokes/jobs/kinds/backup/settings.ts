/** Backup settings of this hub, the same for every upgrade. */
export interface BackupSettings {
  /** Image that takes the backup; empty when none is configured. */
  readonly image: string;
  /** Seconds between a spoke agent's polls of the job; a verdict is at most this late. */
  readonly jobViewSeconds: number;
  /** Delete leftovers of an earlier backup without looking for them first, as the reference does; default false. */
  readonly talmStrict?: boolean;
}
