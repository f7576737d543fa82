/** A story: all that is chosen of a run beforehand, as data, so that it can be cut down. Times are milliseconds from its start. */

/** One upgrade. Clusters are `spoke-1` and on, by their numbers. */
export interface UpgradePart {
  readonly name: string;
  readonly at: number;
  readonly clusters: readonly number[];
  readonly canaries: readonly number[];
  readonly maxConcurrency: number;
  readonly timeoutMinutes: number;
  /** Policies of its own, in order, each with its soak in seconds; empty: it rolls out works. */
  readonly policies: readonly { readonly soakSeconds: number }[];
  /** Templates of works that it rolls out instead. */
  readonly works: number;
  readonly preCaching: boolean;
  readonly backup: boolean;
  readonly enable: boolean;
  readonly abort: boolean;
  /** Name of the upgrade that comes first. */
  readonly after?: string;
  /** Its batches are filled with clusters that are ready: with so many at least, after so many minutes. */
  readonly waves?: { readonly least: number; readonly patienceMinutes: number };
  /** Its window opens then. */
  readonly windowAt?: number | undefined;
}

/** Programs that run on an operated spoke. */
export type Operator = 'upgrade' | 'version';

/** The one spoke whose operators run: a work asks it for a version, and its upgrade ends there when they say so. */
export interface OperatedPart {
  readonly cluster: number;
  /** Upgrade whose first template asks. */
  readonly upgrade: string;
  /** `upgrade`: the version operator is played; `both`: it runs too. */
  readonly operators: 'upgrade' | 'both';
  /** `upgradeAt` of what is asked. */
  readonly notBefore: number;
  /** It stays when the upgrade takes its works away. */
  readonly isKept: boolean;
}

/** Acts on an upgrade, by people; it is restored with a new uid, with its status or without. */
export const ON_UPGRADE = ['enable', 'pause', 'stop', 'resume', 'delete', 'retry', 'edit', 'restore', 'restore bare'] as const;
/** Acts on the annotations by which batches of an upgrade are filled. */
export const ON_WAVES = ['fill batches', 'have patience', 'list batches'] as const;
/** Acts on a cluster: by people, or by its link and its agent. */
export const ON_CLUSTER = [
  'hold',
  'release',
  'close hours',
  'recur hours',
  'open hours',
  'cut',
  'join',
  'leave',
  'restart agent',
  'unlabel',
  'mislabel',
] as const;
/** Answers of a cluster to all policies from then on. */
export const ON_COMPLIANCE = ['never', 'slow', 'silent', 'relapse', 'comply'] as const;
/** Fates of works on a cluster from then on. */
export const ON_WORKS = ['refuse works', 'stick works', 'free works'] as const;
/** Fates of jobs on a cluster from then on. */
export const ON_JOBS = ['fail jobs', 'hold jobs', 'delete job', 'lose images', 'break server', 'free jobs'] as const;
/** Acts on a policy of an upgrade. */
export const ON_POLICY = ['disable', 'unbind', 'remove policy', 'restore policy', 'empty roll-up'] as const;
/** Mishaps of an operator and of the cluster around it, and what people do to what is asked of it on the spoke. */
export const ON_OPERATOR = [
  'kill operator',
  'sleep operator',
  'skew operator',
  'end spoke watches',
  'lose services',
  'say no',
  'free services',
  'hold version',
  'hold nodes',
  'free cluster',
  'take back',
  'ask for another',
] as const;
/** Mishaps of a hub, or of the API server's watches. */
export const ON_HUB = ['kill hub', 'sleep hub', 'end watches', 'compact', 'skew hub'] as const;

/** Acts on the limits of the fleet. */
export const ON_LIMITS = ['set limits', 'break limits', 'drop limits'] as const;

interface At {
  readonly at: number;
}

/** Act on an upgrade. */
export interface UpgradeAct extends At {
  readonly what: (typeof ON_UPGRADE)[number] | (typeof ON_WAVES)[number];
  readonly upgrade: string;
}

/** Act on a cluster. */
export interface ClusterAct extends At {
  readonly what: (typeof ON_CLUSTER)[number] | (typeof ON_COMPLIANCE)[number] | (typeof ON_JOBS)[number] | (typeof ON_WORKS)[number];
  readonly cluster: number;
}

/** Act on a policy. */
export interface PolicyAct extends At {
  readonly what: (typeof ON_POLICY)[number];
  readonly upgrade: string;
  /** Its number in the upgrade, from 1. */
  readonly policy: number;
}

/** Milliseconds by which a clock is put ahead: less than others of its acts last, since a clock that is minutes ahead opens windows early. */
export const skewOf = (ms: number): number => ms / 10;

/** Act on a hub, or on its server. */
export interface HubAct extends At {
  readonly what: (typeof ON_HUB)[number];
  /** For how long, or by how much. */
  readonly ms: number;
}

/** Act on the limits of the fleet. */
export interface LimitsAct extends At {
  readonly what: (typeof ON_LIMITS)[number];
  readonly limits: Limits;
}

/** Limits of the fleet: clusters at a time, of all and of each row, and both for both activities. */
export interface Limits {
  readonly pulling: number;
  readonly upgrading: number;
  readonly row: number;
}

/** Act on the operated spoke. */
export interface OperatorAct extends At {
  readonly what: (typeof ON_OPERATOR)[number];
  readonly operator: Operator;
  /** For how long, or by how much. */
  readonly ms: number;
}

/** Something that somebody does, or that happens to the fleet. */
export type Act = UpgradeAct | ClusterAct | PolicyAct | HubAct | OperatorAct | LimitsAct;

/** Time in which calls and watches have mishaps. */
export interface Storm {
  readonly from: number;
  readonly until: number;
  /** Part of the calls that have one. */
  readonly mishaps: number;
  /** Longest lag of a watch in milliseconds. */
  readonly lagMs: number;
  /** Part of the events of watches that break theirs. */
  readonly breaks: number;
}

/** One run, but for its seeded times. */
export interface Story {
  /** Gives the times of everything that the story does not say. */
  readonly seed: number;
  readonly spokes: number;
  readonly transport: 'actions' | 'work';
  /** Hubs that contend for the lease. */
  readonly hubs: number;
  readonly upgrades: readonly UpgradePart[];
  readonly acts: readonly Act[];
  readonly storms: readonly Storm[];
  /** Limits of the fleet from the start; spokes with odd numbers are in a row of their own. */
  readonly limits?: Limits;
  readonly operated?: OperatedPart | undefined;
}
