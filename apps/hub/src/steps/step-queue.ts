import { type Reconciler, type ReconcilerOptions, startReconciler } from '@flotilla/runtime';
import { parseStepKey, type StepKey, type StepKind } from './step-key.ts';

/** What every queue of steps in a process is given. */
export type StepOptions = Pick<ReconcilerOptions, 'queue' | 'concurrency' | 'signal' | 'logger' | 'metrics' | 'clock'>;

/** The queue of one kind of step, as its requests use it. */
export type StepQueue = Pick<Reconciler, 'enqueue' | 'holds' | 'forget'>;

/** One run of a step: idempotent, and free to observe that there is nothing to do. What it resolves with is of no interest. */
export type StepHandler = (key: StepKey, signal: AbortSignal) => Promise<unknown>;

/** Steps of some kinds, and who runs them. */
interface Steps extends StepOptions, Pick<ReconcilerOptions, 'name' | 'reserve'> {
  /** Others are dropped. */
  readonly kinds: readonly StepKind[];
  readonly handle: StepHandler;
  /** A key's runs in this process have failed `LASTING_TRIES` times in a row or more, or can never succeed. Must not throw. */
  readonly onFailing?: (key: StepKey, message: string) => void;
}

/** Milliseconds within which a step has ended, or fails. */
export const STEP_TIMEOUT_MS = 60_000;
/** An error that so many tries in a row end with, over some 5 s, lasts: others pass before anybody reads of them. */
const LASTING_TRIES = 5;

/** Starts the reconciler of steps, which other processes with the same queue may run too. */
export function startSteps({ kinds, handle, onFailing, ...options }: Steps): Reconciler {
  const read = (text: string): StepKey | undefined => {
    const key = parseStepKey(text);
    return key && kinds.includes(key.kind) ? key : undefined;
  };
  return startReconciler({
    ...options,
    accepts: (text) => read(text) !== undefined,
    backOff: { baseMs: 500, maxMs: 60_000 },
    runTimeoutMs: STEP_TIMEOUT_MS,
    graceMs: 5_000,
    waitLevel: 'debug',
    reconcile: async (text, { signal }) => {
      const key = read(text);
      if (key) await handle(key, signal);
      return undefined;
    },
    onTrouble: async (text, { kind, attempt, message }) => {
      const key = read(text);
      if (key && (kind === 'terminal' || attempt >= LASTING_TRIES)) onFailing?.(key, message);
    },
  });
}
