/** What the operator of the hub decides about backups; from the configuration, the same for every upgrade. */
export interface BackupSettings {
  /** Image that takes the backup; empty when none is configured. */
  readonly image: string;
  /** Seconds between a spoke agent's polls of the job; bounds how late a verdict is seen. */
  readonly jobViewSeconds: number;
  /** Delete what is left of an earlier backup before looking whether there is anything, as the reference does; default false. */
  readonly talmStrict?: boolean;
}
