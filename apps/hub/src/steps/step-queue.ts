import { type Reconciler, type ReconcilerOptions, startReconciler } from '@flotilla/runtime';
import { parseStepKey, type StepKey, type StepKind } from './step-key.ts';

/** Options of every step queue in a process. */
export type StepOptions = Pick<ReconcilerOptions, 'queue' | 'concurrency' | 'signal' | 'logger' | 'metrics' | 'clock'>;

/** Queue of one kind of step, as its requests use it. */
export type StepQueue = Pick<Reconciler, 'enqueue' | 'holds' | 'forget'>;

/** Runs a step once; idempotent. Nothing reads its result. */
export type StepHandler = (key: StepKey, signal: AbortSignal) => Promise<unknown>;

/** Options of `startSteps`. */
interface Steps extends StepOptions, Pick<ReconcilerOptions, 'name' | 'reserve'> {
  /** Keys of other kinds are dropped. */
  readonly kinds: readonly StepKind[];
  readonly handle: StepHandler;
  /** Receives a key whose runs in this process failed `LASTING_TRIES` times in a row, or can never succeed. Must not throw. */
  readonly onFailing?: (key: StepKey, message: string) => void;
}

/** Milliseconds after which a step fails. */
export const STEP_TIMEOUT_MS = 60_000;
/** Failures in a row, over some 5 s, before an error is reported: shorter ones pass before anybody reads them. */
const LASTING_TRIES = 5;

/** Starts the reconciler of steps; other processes with the same queue may run them too. */
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
