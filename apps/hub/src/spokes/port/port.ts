/** How a kind of job reaches a spoke, in words that name no way of doing it. Types alone; `../reach.ts` says which ways there are. */
import type { PullerReport } from '@flotilla/api/ran';
import type { SpokeJobEffect, UpgradeIdentity, ViewAnswer } from '@flotilla/rollout';
import type { SpokePlan } from './spoke-plan.ts';
import type { SpokeJobNames, Workload } from './workload.ts';

/** The parts of an object on a spoke that decide something. */
export interface SpokeObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly deletionTimestamp?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly status?: unknown;
}

/** What is known of one object: `found`, `absent`, `unknown`, or still `pending`. */
export type Answer = ViewAnswer<SpokeObject>;

/** An object on the spoke that is looked at for this upgrade. */
export interface Sight {
  /** Since when, milliseconds since the epoch by the hub's clock. */
  readonly since: number;
  readonly answer: Answer;
}

/** Something that the spoke was asked for and did not do, in spite of more than one try. */
export interface Failure {
  readonly message: string;
  /** When it counts as its last word if it lasts, milliseconds since the epoch; undefined: it may pass. */
  readonly finalAt: number | undefined;
}

/** One spoke, for one upgrade and one kind of job. */
export interface SpokeObservation {
  /** Its agent answers. */
  readonly available: boolean;
  /** Something of this upgrade's is on the hub, and so may be on the spoke. */
  readonly isHeld: boolean;
  /** Since when the spoke is reached for; undefined: not yet. It outlives a process. */
  readonly since: number | undefined;
  /** Digests of the specs that what is on the hub was made for. */
  readonly digests: readonly string[];
  readonly namespace: Sight | undefined;
  readonly job: Sight | undefined;
  /** What the puller said last. */
  readonly report: PullerReport | undefined;
  readonly failure: Failure | undefined;
  /** How often the job vanished from the spoke and was created again. */
  readonly losses: number;
  /** An agent has taken up what it was given, even if nothing on the spoke is known yet. */
  readonly isAnswered?: boolean;
  /** What is to be told of the way the spoke is reached while there is nothing else to tell. */
  readonly note?: string | undefined;
}

/** What reaching a spoke needs of a kind of job. */
export interface NamedJob {
  /** Value of `flotilla.io/work`. */
  readonly work: string;
  readonly names: SpokeJobNames;
  /** What an earlier attempt may have left is deleted without looking first, the job is made once its namespace is seen, and nobody waits for the end of its deletion. */
  readonly cleansFirst?: boolean | undefined;
}

/** Where an object of a job goes. */
export interface ObjectPlace {
  readonly job: NamedJob;
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  /** Digest of what the job is to do; absent when that never changes. */
  readonly digest?: string | undefined;
}

/** One spoke's part of one upgrade. */
export interface SpokeTask extends ObjectPlace {
  readonly workload: Workload;
}

/** The effects of a job's machine on one spoke, and its end. Each adds to a plan the writes that are missing. */
export interface SpokeEffects extends Readonly<Record<SpokeJobEffect, () => void>> {
  /** Removes what is on the spoke, whether or not anything is left on the hub. True once that is known to be done. */
  clean(): boolean;
  /** Leaves nothing on the hub but what remembers that the spoke is still to be cleaned. */
  remember(): void;
  /** Removes everything of this upgrade's job from the hub. */
  drop(): void;
}

/** A spoke as it is reached now: what is seen of it, and what can be done. */
export interface SpokeReach {
  readonly by: 'actions' | 'work';
  readonly spoke: SpokeObservation;
  /** @param state what the spoke's job has come to */
  readonly effects: (task: SpokeTask, state: string, plan: SpokePlan) => SpokeEffects;
}
