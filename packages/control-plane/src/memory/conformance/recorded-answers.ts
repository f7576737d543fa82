import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Answer } from './transcript.ts';

const Answers = z.record(z.string(), z.array(z.record(z.string(), z.unknown())));

/** The answers of a real API server, by question, as they were recorded. */
export function recordedAnswers(): Readonly<Record<string, readonly Answer[]>> {
  return Answers.parse(JSON.parse(readFileSync(new URL('../generated/answers.json', import.meta.url), 'utf8')));
}
