import { conditionTime } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import {
  EndReason,
  type NotificationState,
  type StepCondition,
  UpgradeCondition,
  UpgradeConfig,
  type UpgradeConfigStatus,
  type UpgradeHistory,
  type UpgradePhase,
} from '@flotilla/api/managed';
import { type EventToRecord, eventSubject } from '@flotilla/runtime';
import {
  beginningOf,
  conditionOf,
  historyOf,
  precedingVersion,
  readingOf,
  type StepEnd,
  type UpgradeBeginning,
  upgradeInForce,
  withResolvedVersion,
  withStepCondition,
  withStepEnd,
} from '@flotilla/upgrade';
import { statusEvents } from './status-events.ts';
import type { StatusWriter } from './status-writer.ts';

/** Reasons of the condition `Validated`. */
export const ValidationReason = {
  valid: 'Valid',
  refused: 'ValidationFailed',
  /** A lookup that validation needs has failed. */
  unknown: 'ValidationPending',
} as const;
export type ValidationReason = (typeof ValidationReason)[keyof typeof ValidationReason];

/** Reasons of the condition `Reconciled` where it is False. */
export const FailureReason = {
  /** A pass was broken off, and is made again. */
  failed: 'PassFailed',
  /** Something of an ended upgrade cannot be taken back. */
  leftovers: 'LeftoversRemain',
  /** The window is over, and the upgrade cannot be given up. */
  notGivenUp: 'GiveUpFailed',
  /** Pods cannot be removed from a node. */
  drain: 'DrainFailed',
} as const;

/** Conditions that an upgrade depends on, with their reason and message once they are in order again. */
const CONCERNS = {
  [UpgradeCondition.configured]: { reason: 'ConfigurationValid', message: 'The configuration of the operator is valid' },
  [UpgradeCondition.clusterVersionFound]: { reason: 'ClusterVersionFound', message: 'The cluster has its ClusterVersion' },
  [UpgradeCondition.synced]: { reason: 'Synced', message: 'What is asked for is what is carried out' },
  [UpgradeCondition.reconciled]: { reason: 'Reconciled', message: 'Nothing keeps the upgrade from being looked at' },
} as const;
interface Said {
  readonly reason: string;
  readonly message: string;
}
type Concern = keyof typeof CONCERNS;

/** Message about an attempt that has ended, by the reason of its end. */
const ENDED: Readonly<Record<EndReason, (version: string) => string>> = {
  [EndReason.done]: (version) => `The cluster has version ${version}. Nothing is waited for: set spec.desired to begin another upgrade`,
  [EndReason.givenUp]: (version) =>
    `The upgrade to ${version} was given up and is not tried again: set another spec.upgradeAt, or spec.desired, to begin another attempt`,
  [EndReason.withdrawn]: (version) => `The upgrade to ${version} was withdrawn before it changed anything`,
};

/** The status of an UpgradeConfig as one pass makes it: the only writer. It is written where a pass says so, and only when it differs. */
export class UpgradeDraft {
  #base: UpgradeConfig;
  #history: readonly UpgradeHistory[];
  readonly #at: number;
  readonly #begunWith: UpgradeBeginning;
  readonly #now: () => number;
  /** Generation of the spec that this pass judges. */
  readonly #generation: number | undefined;
  #isJudged = false;
  #failure: Said | undefined;
  readonly isNew: boolean;

  /** @param upgradeConfig with the spec that counts for the upgrade in force */
  constructor(upgradeConfig: UpgradeConfig, clusterVersion: ClusterVersion | undefined, now: () => number) {
    this.#base = upgradeConfig;
    this.#generation = upgradeConfig.metadata.generation;
    this.#begunWith = beginningOf(upgradeConfig.spec);
    this.#now = now;
    const { version = '' } = upgradeConfig.spec.desired;
    const history = withResolvedVersion(historyOf(upgradeConfig), version);
    const { entry } = upgradeInForce({ ...upgradeConfig, status: { ...upgradeConfig.status, history: [...history] } });
    this.isNew = entry === undefined;
    const fresh: UpgradeHistory = { ...(version !== '' && { version }), phase: 'New', conditions: [] };
    this.#history = entry ? history : [fresh, ...history];
    this.#at = entry ? history.indexOf(entry) : 0;
    const preceding = clusterVersion && precedingVersion(clusterVersion, version);
    const { phase, precedingVersion: known } = this.entry;
    const isAhead = phase === 'New' || phase === 'Pending';
    if (isAhead && known === undefined && preceding !== undefined) this.change({ precedingVersion: preceding });
  }

  /** As the pass has made it so far. */
  get entry(): UpgradeHistory {
    const entry = this.#history[this.#at];
    if (!entry) throw new Error('a draft always has the entry of its attempt');
    return entry;
  }

  /** Attempts before this one, the newest first. */
  get earlier(): readonly UpgradeHistory[] {
    return this.#history.slice(this.#at + 1);
  }

  change(changes: Partial<UpgradeHistory>): void {
    this.#set({ ...this.entry, ...changes });
  }

  /** Enters a phase; the upgrade begins with Upgrading and is complete with Upgraded. */
  enter(phase: UpgradePhase): void {
    const now = conditionTime(this.#now());
    if (phase === 'Upgrading') this.change({ phase, startTime: now, begunWith: this.#begunWith });
    else this.change({ phase, ...(phase === 'Upgraded' && { completeTime: now }) });
  }

  /** Says that this attempt waits for nobody any more. @param why in addition */
  sayEnded(reason: EndReason, why?: string): void {
    const message = ENDED[reason](this.entry.version ?? '') + (why === undefined ? '' : `: ${why}`);
    const said = withStepCondition(this.entry, { type: UpgradeCondition.ended, status: 'True', reason, message }, this.#now());
    if (said === this.entry) return;
    // `kubectl get` shows the first condition: that of the last step, as with the reference.
    const isEnded = ({ type }: StepCondition) => type === UpgradeCondition.ended;
    const all = said.conditions ?? [];
    this.change({ conditions: [...all.filter((each) => !isEnded(each)), ...all.filter(isEnded)] });
  }

  endStep(condition: UpgradeCondition, end: StepEnd): void {
    this.#set(withStepEnd(this.entry, condition, end, this.#now()));
  }

  /** Says whether the UpgradeConfig can be carried out, and why not. */
  sayValidated(reason: ValidationReason, message: string): void {
    const status: StepCondition['status'] =
      reason === ValidationReason.valid ? 'True' : reason === ValidationReason.refused ? 'False' : 'Unknown';
    this.#set(withStepCondition(this.entry, { type: UpgradeCondition.validated, status, reason, message }, this.#now()));
  }

  /**
   * Says what is wrong with what the upgrade builds on, or that it is in order again; nothing as long as nothing was ever wrong.
   * @param remark said of what is in order
   */
  say(type: Concern, problem: Said | undefined, remark?: Said): void {
    if (!problem && !remark && !conditionOf(this.entry, type)) return;
    const said = problem
      ? { type, status: 'False' as const, ...problem }
      : { type, status: 'True' as const, ...(remark ?? CONCERNS[type]) };
    this.#set(withStepCondition(this.entry, said, this.#now()));
  }

  /** The upgrade was given up. */
  sayFailed(isTold: boolean): void {
    const message = isTold ? 'FailedUpgrade notification sent' : 'FailedUpgrade notification is still to be sent';
    const said = { type: UpgradeCondition.failed, status: 'True', reason: 'Upgrade failed', message } as const;
    this.#set(withStepCondition(this.entry, said, this.#now()));
  }

  /** Remembers what is to be told, was told, or could not be told. @param of one of the earlier attempts; default this one */
  noteNotification(
    state: NotificationState,
    said: { readonly isTold: boolean; readonly problem?: string; readonly detail?: string },
    of = this.entry,
  ): void {
    const all = of.notifications ?? [];
    const old = all.find((each) => each.state === state);
    const detail = old?.detail ?? said.detail;
    const next = {
      state,
      ...(said.isTold && { time: conditionTime(this.#now()) }),
      ...(detail !== undefined && { detail }),
      ...(said.problem !== undefined && { message: said.problem }),
    };
    this.#set({ ...of, notifications: old ? all.map((each) => (each === old ? next : each)) : [...all, next] }, of);
  }

  #set(entry: UpgradeHistory, old = this.entry): void {
    this.#history = this.#history.map((other) => (other === old ? entry : other));
  }

  /** Notes what this pass could not do, and of which object; the first one is said. */
  noteFailure(failure: Said): void {
    this.#failure ??= failure;
  }

  /**
   * Ends the pass. From here on the conditions are about its spec; until then a tool reads an edited UpgradeConfig as in progress.
   * @param isHeld the spec waits for the end of another upgrade
   */
  sayPassed(isHeld: boolean): void {
    this.say(UpgradeCondition.reconciled, this.#failure);
    this.#isJudged = !isHeld;
  }

  /**
   * Writes the status where it differs from what is stored.
   * @returns the events that this is worth
   * @throws UpgradeConfigGoneError
   */
  async save(writer: Pick<StatusWriter, 'write'>, signal: AbortSignal): Promise<EventToRecord[]> {
    const before = historyOf(this.#base);
    const stored = await writer.write(this.#base, this.status, signal);
    if (!stored) return [];
    this.#base = stored;
    return statusEvents(before, historyOf(stored)).map((event) => ({ ...event, regarding: eventSubject(UpgradeConfig, stored) }));
  }

  /** As it is to be stored. */
  get status(): UpgradeConfigStatus {
    const isKnown = this.#isJudged || this.#base.status?.observedGeneration === this.#generation;
    const reading = readingOf(this.#base, this.entry, { generation: isKnown ? this.#generation : undefined, nowMs: this.#now() });
    return { ...reading, history: [...this.#history] };
  }
}
