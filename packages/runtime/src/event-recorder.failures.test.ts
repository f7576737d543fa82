import type { EventToRecord } from '@flotilla/api/core';
import { expect, test } from 'vitest';
import { troubleEvents } from './event-recorder.ts';
import { createLogger } from './logger.ts';
import type { Trouble } from './reconciler.ts';

const subject = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' };
const context = { logger: createLogger({ name: 'test', level: 'silent' }), signal: new AbortController().signal };

async function notes(troubles: readonly Partial<Trouble>[], key = 'known'): Promise<string[]> {
  const events: EventToRecord[] = [];
  const report = troubleEvents({ record: (event) => void events.push(event) }, (name) => (name === 'known' ? subject : undefined));
  for (const trouble of troubles) await report(key, { kind: 'retry', code: '', message: 'no', times: 1, attempt: 0, ...trouble }, context);
  return events.map(({ note, regarding }) => `${regarding.name}: ${note}`);
}

test.each([
  {
    name: 'a terminal error, once',
    troubles: [
      { kind: 'terminal', times: 1 },
      { kind: 'terminal', times: 2 },
    ] as const,
    told: ['x: no'],
  },
  {
    name: 'failures from the fifth on, once',
    troubles: [1, 2, 3, 4, 5, 6].map((attempt) => ({ attempt, times: attempt })),
    told: ['x: no'],
  },
  { name: 'no wait', troubles: [{ kind: 'waiting', times: 1 }] as const, told: [] },
])('tells of $name', async ({ troubles, told }) => expect(await notes(troubles)).toEqual(told));

test('tells nobody of a key without an object', async () => expect(await notes([{ kind: 'terminal' }], 'gone')).toEqual([]));
