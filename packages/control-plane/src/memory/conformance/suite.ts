import { isSameJson } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { ranCrds } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { APPLIES } from './applies.ts';
import { boatCrds } from './boats.ts';
import { CREATES } from './creates.ts';
import { DELETIONS } from './deletions.ts';
import { LISTS } from './lists.ts';
import type { Question } from './question.ts';
import { recordedAnswers } from './recorded-answers.ts';
import { SCHEMAS } from './schemas.ts';
import { type Answer, Transcript } from './transcript.ts';
import { UPDATES } from './updates.ts';
import { WATCHES } from './watches.ts';

export { recordedKinds, recordKinds } from '../record-kinds.ts';

/** Every question. */
export const questions: readonly Question[] = [...CREATES, ...UPDATES, ...SCHEMAS, ...LISTS, ...WATCHES, ...DELETIONS, ...APPLIES];

/** CRDs that a server needs before it is asked. */
export const conformanceCrds = (): readonly unknown[] => [...boatCrds(), ...ranCrds()];

/** Asks a server one question, in a namespace of its own. */
export async function answersOf(client: Client, { name, ask }: Question): Promise<readonly Answer[]> {
  const namespace = `q-${questions.findIndex((question) => question.name === name) + 1}`;
  await client.create(Namespace, { metadata: { name: namespace } });
  const transcript = new Transcript(client, namespace);
  await ask(transcript);
  return z.array(z.record(z.string(), z.unknown())).parse(JSON.parse(JSON.stringify(transcript.answers)));
}

/**
 * Names of the questions that a server answers otherwise than was recorded; one that it cannot answer at all counts.
 * @param most names after which nothing more is asked; default all
 */
export async function differences(client: Client, most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const recorded = recordedAnswers();
  const different: string[] = [];
  for (const question of questions) {
    if (different.length >= most) break;
    const answers = await answersOf(client, question).catch(() => undefined);
    if (!isSameJson(answers, recorded[question.name])) different.push(question.name);
  }
  return different;
}
