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
import { type Client, patchStatus } from '@flotilla/runtime';
import {
  findEntry,
  historyOf,
  precedingVersion,
  type StepEnd,
  withEntry,
  withResolvedVersion,
  withStepCondition,
  withStepEnd,
} from '@flotilla/upgrade';
import type { OwnWrites } from '../../own-writes.ts';

/** Reasons of the condition `Validated`. */
export const ValidationReason = {
  valid: 'Valid',
  refused: 'ValidationFailed',
  /** What is needed to judge it could not be looked up. */
  unknown: 'ValidationPending',
  /** Whoever provides it could not be asked. */
  providerUnavailable: 'ProviderUnavailable',
  configuration: 'ConfigurationInvalid',
} as const;
export type ValidationReason = (typeof ValidationReason)[keyof typeof ValidationReason];

/** The status of an UpgradeConfig as one pass makes it: the only writer. It is written where a pass says so, and only when it differs. */
export class UpgradeDraft {
  #base: UpgradeConfig;
  #history: readonly UpgradeHistory[];
  readonly #version: string;
  readonly #now: () => number;
  readonly isNew: boolean;

  constructor(upgradeConfig: UpgradeConfig, clusterVersion: ClusterVersion, now: () => number) {
    this.#base = upgradeConfig;
    this.#now = now;
    const { version = '' } = upgradeConfig.spec.desired;
    this.#version = version;
    const history = withResolvedVersion(historyOf(upgradeConfig), version);
    this.isNew = findEntry(history, version) === undefined;
    const preceding = precedingVersion(clusterVersion, version);
    const entry: UpgradeHistory = {
      ...(version !== '' && { version }),
      ...(preceding !== undefined && { precedingVersion: preceding }),
      phase: 'New',
      conditions: [],
    };
    this.#history = this.isNew ? withEntry(history, entry) : history;
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
    this.change({ phase, ...(phase === 'Upgrading' && { startTime: now }), ...(phase === 'Upgraded' && { completeTime: now }) });
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

  /** Says what is wrong with the operator's configuration, or that it is mended; nothing as long as it never was wrong. */
  sayConfiguration(problem: string | undefined): void {
    const type = UpgradeCondition.configured;
    if (problem === undefined && !this.entry.conditions?.some((condition) => condition.type === type)) return;
    const said =
      problem === undefined
        ? { type, status: 'True' as const, reason: 'ConfigurationValid', message: 'The configuration of the operator is valid' }
        : { type, status: 'False' as const, reason: ValidationReason.configuration, message: problem };
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

  /** Writes what differs from what is stored; throws a conflict when somebody changed the UpgradeConfig meanwhile. */
  async save(client: Pick<Client, 'patch'>, written: OwnWrites<UpgradeConfig>, signal: AbortSignal): Promise<void> {
    const stored = await patchStatus(client, UpgradeConfig, this.#base, { ...this.#base.status, history: this.#history }, { signal });
    if (!stored) return;
    written.note(this.#base, stored);
    this.#base = stored;
  }
}
