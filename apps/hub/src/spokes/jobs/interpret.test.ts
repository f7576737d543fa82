import { PrecacheState } from '@flotilla/api/ran';
import { saidOf } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { absent, context, failed, late, pending, unknown } from '../../../testing/interpret-case.ts';
import { ofNodes } from '../../../testing/interpret-nodes.cases.ts';
import { preparing } from '../../../testing/interpret-preparing.cases.ts';
import { running } from '../../../testing/interpret-running.cases.ts';
import { buildSpoke, buildView, foundJob, foundNamespace } from '../../../testing/observation-builders.ts';
import { toObservation } from '../transports/actions/observe.ts';
import type { Answer } from '../transports/port/port.ts';
import { precacheNames } from './kinds/precache/job.ts';
import { decide } from './plan.ts';

const rows = [...preparing, ...running, ...ofNodes];

describe('decide', () => {
  test.each(rows)('$from, $name: $to', ({ from, spoke, to, effects = [], message, at, context: given = context }) => {
    const decided = decide(from, toObservation(precacheNames, buildSpoke(spoke)), given);
    expect({ ...decided, message: decided.message && saidOf(decided.message) }).toEqual({ state: to, message, at, effects });
  });

  test('every state and every state reached is in the table', () => {
    const seen = new Set(rows.flatMap(({ from, to }) => [from, to]));
    expect([...seen].sort()).toEqual([...PrecacheState.options].sort());
  });

  const answers: Answer[] = [
    absent,
    pending,
    unknown,
    foundNamespace(),
    foundJob({ active: 1 }),
    foundJob({ succeeded: 1 }),
    failed('DeadlineExceeded'),
  ];
  test.each(['Succeeded', 'PrecacheTimeout', 'UnrecoverableError'] as const)('%s stays, whatever is seen', (state) => {
    for (const answer of answers)
      for (const available of [true, false])
        for (const given of [context, late]) {
          const view = buildView(answer);
          const spoke = toObservation(precacheNames, buildSpoke({ available, namespaceView: view, jobView: view }));
          expect(decide(state, spoke, given)).toEqual({ state, message: undefined, effects: [] });
        }
  });
});
