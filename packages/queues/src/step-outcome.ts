import { errorMessage, FlotillaError, TerminalError, WaitingError } from '@flotilla/api';
import { z } from 'zod';
import type { NewJob } from './job-store.ts';
import { type Backoff, failedOutcome, type Outcome } from './worker.ts';

/** How a run ended, as it crosses from the process that ran to the one that asked. Kinds and codes cross, classes do not. */
const End = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), result: z.unknown().optional() }),
  z.object({ kind: z.literal('waiting'), code: z.string(), message: z.string(), retryAfterMs: z.number() }),
  z.object({ kind: z.literal('failed'), code: z.string(), message: z.string() }),
  z.object({ kind: z.literal('terminal'), code: z.string(), message: z.string() }),
]);
type End = z.output<typeof End>;

/** The end of one run, addressed to the process that asked for it. */
const StepAnswer = z.object({ jobId: z.string(), key: z.string(), end: End });
export type StepAnswer = z.output<typeof StepAnswer>;

/** What a job of an outcome queue carries: all answers that were ready together. */
export const StepAnswers = z.object({ answers: z.array(StepAnswer) });

/** The job that carries answers. */
export const toAnswerJob = (answers: readonly StepAnswer[]): NewJob => ({ name: 'outcome', data: { answers }, opts: {} });

/** Queue on which the answers to a step queue's jobs come back. */
export const answerQueue = ({ name }: { readonly name: string }): string => `${name}-outcome`;

/** Id of a job: who asked (an id of its own for each start of a process), and its how manieth job it is. */
export const toJobId = (asker: string, serial: number): string => `${asker}-${serial}`;

/** Inverse of `toJobId`; ids of other shapes belong to nobody. */
export function parseJobId(id: string): { readonly asker: string; readonly serial: number } {
  const [asker = '', serial] = id.split('-');
  return { asker, serial: Number(serial) };
}

/** What crosses of an outcome. */
export function toEnd(outcome: Outcome<unknown>): End {
  if (outcome.kind === 'done') return { kind: 'done', result: outcome.result };
  const { kind, error } = outcome;
  const message = errorMessage(error);
  if (kind === 'waiting') return { kind, code: error.code, message, retryAfterMs: error.retryAfterMs };
  return { kind, code: error instanceof FlotillaError ? error.code : 'FLOTILLA_STEP_FAILED', message };
}

/** What a run needs to be told here as if it had been one of this process. */
export interface EndContext<R> {
  readonly backoff: Backoff;
  readonly result: z.ZodType<R>;
  /** Failures of the key in a row before this run. */
  readonly failures: number;
  readonly random: () => number;
}

/** The outcome a run elsewhere stands for. A result that is none (of a process of another version) is a failure. */
export function fromEnd<R>(end: End, { backoff, result, failures, random }: EndContext<R>): Outcome<R> {
  const failed = (error: unknown) => failedOutcome(error, failures, backoff, random);
  switch (end.kind) {
    case 'done': {
      const parsed = result.safeParse(end.result);
      return parsed.success ? { kind: 'done', result: parsed.data } : failed(parsed.error);
    }
    case 'waiting':
      return {
        kind: 'waiting',
        error: new WaitingError(end.code, end.message, end.retryAfterMs),
        retryAt: Date.now() + end.retryAfterMs,
      };
    case 'terminal':
      return { kind: 'terminal', error: new TerminalError(end.code, end.message) };
    case 'failed':
      return failed(new FlotillaError(end.code, end.message));
  }
}
