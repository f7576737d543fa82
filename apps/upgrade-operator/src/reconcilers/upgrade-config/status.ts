import { conditionTime } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import {
  type NotificationState,
  type StepCondition,
  UpgradeCondition,
  UpgradeConfig,
  type UpgradeHistory,
  type UpgradePhase,
} from '@flotilla/api/managed';
import { type Client, type EventToRecord, patchStatus } from '@flotilla/runtime';
import {
  beginningOf,
  conditionOf,
  findEntry,
  historyOf,
  precedingVersion,
  type StepEnd,
  type UpgradeBeginning,
  withEntry,
  withResolvedVersion,
  withStepCondition,
  withStepEnd,
} from '@flotilla/upgrade';
import { subjectOf } from '../../event-subject.ts';
import type { OwnWrites } from '../../own-writes.ts';
import { statusEvents } from './status-events.ts';

/** Reasons of the condition `Validated`. */
export const ValidationReason = {
  valid: 'Valid',
  refused: 'ValidationFailed',
  /** What is needed to judge it could not be looked up. */
  unknown: 'ValidationPending',
} as const;
export type ValidationReason = (typeof ValidationReason)[keyof typeof ValidationReason];

/** What an upgrade builds on, and what is said of it once it is in order again. */
const CONCERNS = {
  [UpgradeCondition.configured]: { reason: 'ConfigurationValid', message: 'The configuration of the operator is valid' },
  [UpgradeCondition.clusterVersionFound]: { reason: 'ClusterVersionFound', message: 'The cluster has its ClusterVersion' },
  [UpgradeCondition.synced]: { reason: 'Synced', message: 'What is asked for is what is carried out' },
} as const;
interface Said {
  readonly reason: string;
  readonly message: string;
}
/** Condition of something that an upgrade builds on. */
export type Concern = keyof typeof CONCERNS;

/** The status of an UpgradeConfig as one pass makes it: the only writer. It is written where a pass says so, and only when it differs. */
export class UpgradeDraft {
  #base: UpgradeConfig;
  #history: readonly UpgradeHistory[];
  readonly #version: string;
  readonly #begunWith: UpgradeBeginning;
  readonly #now: () => number;
  readonly isNew: boolean;

  /** @param upgradeConfig with the spec that counts for the upgrade in force */
  constructor(upgradeConfig: UpgradeConfig, clusterVersion: ClusterVersion | undefined, now: () => number) {
    this.#base = upgradeConfig;
    this.#begunWith = beginningOf(upgradeConfig.spec);
    this.#now = now;
    const { version = '' } = upgradeConfig.spec.desired;
    this.#version = version;
    const history = withResolvedVersion(historyOf(upgradeConfig), version);
    this.isNew = findEntry(history, version) === undefined;
    const fresh: UpgradeHistory = { ...(version !== '' && { version }), phase: 'New', conditions: [] };
    this.#history = this.isNew ? withEntry(history, fresh) : history;
    const preceding = clusterVersion && precedingVersion(clusterVersion, version);
    const { phase, precedingVersion: known } = this.entry;
    const isAhead = phase === 'New' || phase === 'Pending';
    if (isAhead && known === undefined && preceding !== undefined) this.change({ precedingVersion: preceding });
  }

  /** As the pass has made it so far. */
  get entry(): UpgradeHistory {
    const entry = findEntry(this.#history, this.#version);
    if (!entry) throw new Error('a draft always has the entry of its version');
    return entry;
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

  /** Remembers what is to be told, was told, or could not be told. */
  noteNotification(
    state: NotificationState,
    said: { readonly isTold: boolean; readonly problem?: string; readonly detail?: string },
  ): void {
    const all = this.entry.notifications ?? [];
    const old = all.find((each) => each.state === state);
    const detail = old?.detail ?? said.detail;
    const next = {
      state,
      ...(said.isTold && { time: conditionTime(this.#now()) }),
      ...(detail !== undefined && { detail }),
      ...(said.problem !== undefined && { message: said.problem }),
    };
    this.change({ notifications: old ? all.map((each) => (each === old ? next : each)) : [...all, next] });
  }

  #set(entry: UpgradeHistory): void {
    this.#history = withEntry(this.#history, entry);
  }

  /**
   * Writes what differs from what is stored; throws a conflict when somebody changed the UpgradeConfig meanwhile.
   * @returns the events that this is worth
   */
  async save(client: Pick<Client, 'patch'>, written: OwnWrites<UpgradeConfig>, signal: AbortSignal): Promise<EventToRecord[]> {
    const stored = await patchStatus(client, UpgradeConfig, this.#base, { ...this.#base.status, history: this.#history }, { signal });
    if (!stored) return [];
    const events = statusEvents(historyOf(this.#base), historyOf(stored));
    written.note(this.#base, stored);
    this.#base = stored;
    return events.map((event) => ({ ...event, regarding: subjectOf(stored) }));
  }
}
