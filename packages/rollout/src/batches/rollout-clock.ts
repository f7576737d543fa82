/** The clock by which a rollout and its batches time out (spec/talm 2.11): it stands still in a pause, and between windows that recur. Pure. */
import { conditionTime } from '@flotilla/api';
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { BatchGateInput } from '../gates/gates.ts';

type Times = Pick<
  ClusterGroupUpgradeStatus['status'],
  'startedAt' | 'currentBatchStartedAt' | 'pausedAt' | 'pausedSeconds' | 'currentBatchPausedSeconds' | 'windows'
>;

/** Inputs of the clock; times are milliseconds since the epoch. */
interface ClockInput {
  readonly times: Times;
  readonly gates: Pick<BatchGateInput, 'pause' | 'closedMs' | 'windows'>;
  /** Length of the whole rollout, milliseconds. */
  readonly timeoutMs: number;
  readonly now: number;
}

/** The clock in one pass. Begun with the stored times; `times` is what the status says after the pass. */
export class RolloutClock {
  #times: Times;
  readonly #input: ClockInput;

  constructor(input: ClockInput) {
    this.#input = input;
    const { windows = [] } = input.gates;
    this.#times = this.#countPause(windows.length === 0 ? input.times : { ...input.times, windows: [...windows] });
  }

  get times(): Times {
    return this.#times;
  }

  /** When the whole rollout times out. */
  get deadline(): number {
    return this.#start + this.#input.timeoutMs;
  }

  /** When a batch that runs times out: the time that is left when it starts is divided among the batches that are left. @param batch from 1 */
  batchDeadline(batch: number, batches: number): number {
    const left = this.deadline - this.#batchStart;
    return this.#batchStart + left / Math.max(batches - (batch - 1), 1);
  }

  /** Time that a batch has, milliseconds; of one that has not begun, if it began now. @param batch from 1 */
  batchTimeoutMs(batch: number, batches: number): number {
    return Math.max(this.batchDeadline(batch, batches) - this.#batchStart, 0);
  }

  /** The deadline moves on with the time, and comes no nearer. */
  get isStopped(): boolean {
    const { now } = this.#input;
    return this.#times.pausedAt !== undefined || (this.#times.currentBatchStartedAt === undefined && this.#closedMs(now, now + 1) > 0);
  }

  startBatch(): void {
    this.#times = { ...this.#times, currentBatchStartedAt: conditionTime(this.#input.now), currentBatchPausedSeconds: undefined };
  }

  /**
   * Ends the batch. From now on the time between windows counts as closed, so what a pause of the batch surely shares with it must not count again.
   * The sums do not tell how much more they share: a time-out comes late rather than early.
   */
  endBatch(): void {
    const { currentBatchStartedAt, currentBatchPausedSeconds = 0, pausedSeconds } = this.#times;
    const { now } = this.#input;
    const begunAt = currentBatchStartedAt === undefined ? now : Date.parse(currentBatchStartedAt);
    const sharedMs = this.#closedMs(begunAt, now) + currentBatchPausedSeconds * 1000 - (now - begunAt);
    this.#times = {
      ...this.#times,
      currentBatchStartedAt: undefined,
      currentBatchPausedSeconds: undefined,
      pausedSeconds: pausedSeconds && pausedSeconds - Math.min(Math.max(Math.floor(sharedMs / 1000), 0), currentBatchPausedSeconds),
    };
  }

  /** When the rollout would have started had the clock never stood still. A batch that runs on after its window has closed has no more time for it. */
  get #start(): number {
    const { startedAt, currentBatchStartedAt, pausedSeconds = 0 } = this.#times;
    const { now } = this.#input;
    const start = startedAt === undefined ? now : Date.parse(startedAt);
    const until = currentBatchStartedAt === undefined ? now : Date.parse(currentBatchStartedAt);
    return start + this.#closedMs(start, until) + pausedSeconds * 1000 + this.#pauseMs;
  }

  get #batchStart(): number {
    const { currentBatchStartedAt, currentBatchPausedSeconds = 0 } = this.#times;
    if (currentBatchStartedAt === undefined) return this.#input.now;
    return Date.parse(currentBatchStartedAt) + currentBatchPausedSeconds * 1000 + this.#pauseMs;
  }

  /** Milliseconds of the pause that lasts. */
  get #pauseMs(): number {
    return this.#pausedMs(this.#times);
  }

  /** Between two windows the closed time stands still already. */
  #pausedMs({ pausedAt, currentBatchStartedAt }: Times): number {
    if (pausedAt === undefined) return 0;
    const { now } = this.#input;
    const since = Date.parse(pausedAt);
    return Math.max(now - since - (currentBatchStartedAt === undefined ? this.#closedMs(since, now) : 0), 0);
  }

  #closedMs(from: number, to: number): number {
    return this.#input.gates.closedMs?.(from, to) ?? 0;
  }

  /** A pause that begins is noted, one that has ended is summed up. */
  #countPause(times: Times): Times {
    const { gates, now } = this.#input;
    if (gates.pause) return { ...times, pausedAt: times.pausedAt ?? conditionTime(now) };
    if (times.pausedAt === undefined) return times;
    const seconds = Math.round(this.#pausedMs(times) / 1000);
    const ofBatch = times.currentBatchStartedAt === undefined ? undefined : (times.currentBatchPausedSeconds ?? 0) + seconds;
    return { ...times, pausedAt: undefined, pausedSeconds: (times.pausedSeconds ?? 0) + seconds, currentBatchPausedSeconds: ofBatch };
  }
}
