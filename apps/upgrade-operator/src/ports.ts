/**
 * Services beyond the API server that an upgrade depends on. Steps know these interfaces; `wiring.ts` connects the services behind them.
 * A call that fails throws an error whose message may stand in a condition: no secret in it. Every call is bounded in time and ends
 * with its signal.
 */
import type { CachedRelease, NotificationState, UpgradeConfig, UpgradeHistory, UpgradePhase } from '@flotilla/api/managed';
import type { EventRecorder, Watch } from '@flotilla/runtime';
import type { ObservedCluster, WorkerFacts } from '@flotilla/upgrade';
import type { ConfigNow } from './operator-config/read-config.ts';
import type { OperatorConfig } from './operator-config/schema.ts';

/** The operator's configuration as it is now: changes count from the next pass. */
export interface ConfigSource {
  readonly current: () => ConfigNow;
  /** Wakes the UpgradeConfig when it changes. */
  readonly watch: Watch;
}

/** Message to an owner of the cluster. */
export interface Notification {
  readonly state: NotificationState;
  readonly upgradeConfig: UpgradeConfig;
  /** The upgrade it is about, with its conditions as they are in this pass. */
  readonly entry: UpgradeHistory;
  /** Health states: what was found (the tokens of spec/muo 6.1). A delay: `drain` when it is a drain's. An end: pools that stay behind. */
  readonly detail?: string;
}

/** Tells owners how the upgrade goes (spec/muo 8). The UpgradeConfig keeps the record of notifications, not this. */
export interface Notifier {
  /**
   * Resolves when it is told, or when there is nobody to tell or nothing left to tell. A process may have died after the same was told: told twice, the
   * receiver must see it once.
   */
  notify(notification: Notification, signal: AbortSignal): Promise<void>;
}

/** Silences of alerts while the cluster is worked on (spec/muo 7.2). Each call may be repeated and then changes nothing. */
export interface Silences {
  /**
   * One that stands is kept, and made longer where it ends too soon.
   * @param window `endsAt`: milliseconds since the epoch, here and below
   */
  startControlPlane(
    window: { readonly version: string; readonly endsAt: number; readonly criticalAlerts: readonly string[] },
    signal: AbortSignal,
  ): Promise<void>;
  /** The version of the upgrade that one in force is for, and its beginning; undefined without any. */
  controlPlane(signal: AbortSignal): Promise<{ readonly version: string; readonly startsAt: string } | undefined>;
  endControlPlane(signal: AbortSignal): Promise<void>;
  /**
   * One for each number of workers that are left: one that has run out since is not made again.
   * @param window `since`: when this attempt first tried to have one
   */
  setWorkers(
    window: { readonly version: string; readonly endsAt: number; readonly remainingNodes: number; readonly since: number },
    signal: AbortSignal,
  ): Promise<void>;
  endWorkers(signal: AbortSignal): Promise<void>;
  /** True when any silence of ours is in force, or about to be. */
  isStanding(signal: AbortSignal): Promise<boolean>;
}

/** Input of a health check. */
export interface HealthQuestion {
  readonly upgradeConfig: UpgradeConfig;
  readonly phase: UpgradePhase;
  readonly cluster: ObservedCluster;
  readonly config: OperatorConfig;
}

/** Result of a health check. */
export interface HealthVerdict {
  /** The upgrade must not go on. */
  readonly blocks: boolean;
  /** Reason why the cluster is not healthy, for people; undefined when it is. */
  readonly message?: string;
  /** Tokens of spec/muo 6.1 that owners are told, when the gate `PreHealthCheck` has them told. */
  readonly tokens?: string;
}

/** Checks that the cluster is fit (spec/muo 6). Monitoring that does not answer is unfit, not fit. */
export interface HealthChecks {
  before(question: HealthQuestion, signal: AbortSignal): Promise<HealthVerdict>;
  after(question: HealthQuestion, signal: AbortSignal): Promise<HealthVerdict>;
}

/** Checks that the external dependencies of the upgrade answer (spec/muo 8.6). */
interface DependencyCheck {
  /** Resolves when all do; throws the failures of those that do not, in their order. @param http timeout of one try in seconds */
  check(http: OperatorConfig['extDependencyAvailabilityChecks']['http'], signal: AbortSignal): Promise<void>;
}

/** Releases whose images the nodes have, as pullers noted. */
interface CachedReleases {
  read(signal: AbortSignal): Promise<ReadonlyMap<string, CachedRelease>>;
}

/** Reason why the UpgradeConfig may not be what its provider wants. */
export interface ProviderProblem {
  /** A change waits for the end of the upgrade that is under way; nobody could be asked; or some of what was answered cannot be read. */
  readonly reason: 'ChangeHeld' | 'ProviderUnavailable' | 'PolicyUnreadable';
  readonly message: string;
}

/** Decides whether there is an upgrade (spec/muo 3.2). */
export interface Provider {
  /** Asks whether the UpgradeConfig is still what is wanted, and changes it when not: then true. One at a time: another call waits for its turn. */
  refresh(signal: AbortSignal): Promise<boolean>;
  /** Runs the act while the provider changes nothing. */
  whileUnchanged<T>(act: () => Promise<T>): Promise<T>;
  /** Problem of the last refresh; undefined when nothing is wrong. */
  readonly problem: () => ProviderProblem | undefined;
  /** Wakes the UpgradeConfig when that changes. */
  readonly watch: Watch;
}

/** Reports on workers whose drain takes long. */
export interface NodeReports {
  /** Nodes that are not drained in the time that a drain takes, the longest first, and what holds each. */
  stuck(
    among: { readonly nodes: ObservedCluster['nodes']; readonly expectedMinutes: number },
    signal: AbortSignal,
  ): Promise<WorkerFacts['stuck']>;
}

/** Alerts of the past (spec/muo 2.2, 8.8). */
export interface AlertHistory {
  /** Names of the paging alerts of upgrades that fired in that time. */
  paging(startMs: number, endMs: number, signal: AbortSignal): Promise<readonly string[]>;
}

/** Moments of an upgrade that have a gauge of their own (spec/muo 10.1). */
export type UpgradeMoment =
  | 'upgrade_started'
  | 'upgrade_completed'
  | 'controlplane_upgrade_started'
  | 'controlplane_upgrade_completed'
  | 'workernode_upgrade_started'
  | 'workernode_upgrade_completed';

/** The operator's own metrics (spec/muo 10.1); names and labels are behind it. Saying the same again changes nothing. */
export interface UpgradeMetrics {
  validationFailed(failed: boolean): void;
  scalingFailed(failed: boolean): void;
  windowBreached(breached: boolean): void;
  controlPlaneTimeout(version: string, late: boolean): void;
  workerTimeout(version: string, late: boolean): void;
  drainTimeout(node: string, late: boolean): void;
  /** No node's drain is late any more, gone ones included. */
  clearDrainTimeouts(): void;
  notificationFailed(state: NotificationState, failed: boolean): void;
  notificationSent(state: NotificationState, version: string): void;
  /** Records the time of a moment, as the status has it. */
  moment(moment: UpgradeMoment, version: string, atMs: number): void;
  result(upgrade: {
    readonly precedingVersion: string;
    readonly version: string;
    readonly stream: 'y' | 'z' | 'unknown';
    readonly alerts: readonly string[];
  }): void;
  /** There is no UpgradeConfig (spec/muo 10.3). */
  resetAll(): void;
  /** The upgrade was given up (spec/muo 10.3). */
  resetFailed(): void;
}

/** Looks up versions and images (spec/muo 4.5, 4.6). */
export interface ReleaseSource {
  /** Version of a release image. */
  versionOf(image: string, signal: AbortSignal): Promise<string>;
  /** Versions that a cluster may go to, by the update graph of its ClusterVersion. */
  updates(
    from: { readonly cluster: ObservedCluster; readonly channel: string; readonly version: string },
    signal: AbortSignal,
  ): Promise<readonly string[]>;
}

/** Everything. */
export interface Ports {
  readonly config: ConfigSource;
  readonly notifier: Notifier;
  readonly silences: Silences;
  readonly health: HealthChecks;
  readonly dependencies: DependencyCheck;
  readonly cachedReleases: CachedReleases;
  readonly provider: Provider;
  readonly alerts: AlertHistory;
  readonly nodes: NodeReports;
  readonly metrics: UpgradeMetrics;
  readonly releases: ReleaseSource;
  /** Recorder of events about the upgrade. */
  readonly events: Pick<EventRecorder, 'record'>;
}
