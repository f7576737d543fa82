import { FlotillaError } from '@flotilla/api';
import type { NotificationState, UpgradeConfig, UpgradeHistory } from '@flotilla/api/managed';
import type { Logger } from '@flotilla/runtime';
import type { ObservedCluster, StepEnd, StepName, UpgradeTarget } from '@flotilla/upgrade';
import type { ClusterWrites } from '../cluster-writes.ts';
import type { NodeDrains } from '../drain/node-drains.ts';
import type { OperatorConfig } from '../operator-config/schema.ts';
import type { Ports } from '../ports.ts';

/** Input of a step: the observations from the beginning of a pass, and the ways to change the world. */
export interface StepContext {
  readonly upgradeConfig: UpgradeConfig;
  /** As this pass has made it so far. */
  readonly entry: UpgradeHistory;
  readonly target: UpgradeTarget;
  readonly cluster: ObservedCluster;
  /** The cluster was sent to the target, whatever it is asked for by now. */
  readonly isCommenced: boolean;
  readonly config: OperatorConfig;
  readonly nowMs: number;
  readonly ports: Ports;
  readonly writes: ClusterWrites;
  readonly drains: NodeDrains;
  /**
   * Runs the act when the API server says that this upgrade is still asked for, and throws a WithdrawnError when it does not; its provider changes
   * nothing meanwhile. Everything made for an upgrade, and the sending of the cluster, is done in it. Once the cluster was sent, nothing is asked.
   */
  readonly whileAsked: <T>(act: () => Promise<T>) => Promise<T>;
  /** Has something told once in this upgrade; does not wait for long, and never fails. */
  readonly notify: (state: NotificationState, detail?: string) => Promise<Told>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Outcome of a notification. */
export type Told = { readonly isTold: true } | { readonly isTold: false; readonly problem?: string };

/** Outcome of a step; `afterMs` asks for another pass where no watch wakes it. */
export type StepOutcome = StepEnd & {
  readonly afterMs?: number;
  /** The steps after it are begun all the same. */
  readonly goesOn?: boolean;
};

/** The upgrade is not asked for any more, and has changed nothing: its pass ends. Code `FLOTILLA_UPGRADE_WITHDRAWN`. */
export class WithdrawnError extends FlotillaError {
  constructor(message: string) {
    super('FLOTILLA_UPGRADE_WITHDRAWN', message);
  }
}

/** One step of an upgrade. An error that it throws counts as failed, but for a WithdrawnError. */
export interface Step {
  readonly name: StepName;
  /** It is done as soon as the cluster was sent to the target: what it is good for is over. Default false. */
  readonly endsWithCommencement?: boolean;
  readonly run: (context: StepContext) => Promise<StepOutcome>;
}

/** The code of each step, by its name. */
export type StepCode = Readonly<Record<StepName, Omit<Step, 'name'>>>;

/** The goal of the step is reached. */
export const done: StepOutcome = { kind: 'done' };
/** The upgrade goes on without what the step is for. @param reason why, for people */
export const skipped = (reason: string): StepOutcome => ({ kind: 'skipped', reason });
/** @param afterMs where no watch tells of the end, or a deadline comes */
export const waiting = (reason: string, afterMs?: number): StepOutcome => ({
  kind: 'waiting',
  reason,
  ...(afterMs !== undefined && { afterMs: Math.max(1, afterMs) }),
});
/** Tried again although nothing changes. @param message why, for people */
export const failed = (message: string): StepOutcome => ({ kind: 'failed', message });

/** A notification holds nobody up: its step says how it is, and the next one begins. */
export function toldOutcome(told: Told): StepOutcome {
  if (told.isTold) return done;
  const end: StepEnd =
    told.problem === undefined ? { kind: 'waiting', reason: 'an answer of whoever is told' } : { kind: 'failed', message: told.problem };
  return { ...end, goesOn: true };
}

/** Milliseconds. */
export const MINUTE = 60_000;
