import type { Transcript } from './transcript.ts';

/** One question to an API server: calls, whose answers are compared. */
export interface Question {
  /** Unique. */
  readonly name: string;
  readonly ask: (to: Transcript) => Promise<unknown>;
}

/** A question. */
export const question = (name: string, ask: Question['ask']): Question => ({ name, ask });
