import { PlanAnswer } from '@flotilla/api/answers';
import { expect, test } from 'vitest';
import { planPage } from './print.ts';

const unknown = { certainty: 'unknown', why: '1 of 3 images could not be read' };
const tight = (space: object) =>
  PlanAnswer.parse({
    upgrade: 'ran/night',
    batches: [['a', 'b']],
    compliant: 0,
    changes: [],
    window: { state: 'none', says: '' },
    pulls: [
      {
        clusters: 2,
        example: 'a',
        says: 'inspected',
        bytes: unknown,
        space,
        free: { certainty: 'exact', value: 4e6 },
        seconds: unknown,
        fits: false,
      },
    ],
    bytes: unknown,
    rollout: { seconds: unknown },
    notes: [],
  });

test.each([
  [{ certainty: 'forecast', value: 8e6 }, 'a and 1 like it: 8.00 MB needed, 4.00 MB free'],
  [unknown, 'a and 1 like it: more needed for the images that could be read, 4.00 MB free'],
])('a cluster without room says what it needs, %j', (space, line) => {
  expect(planPage(tight(space), { width: undefined })).toContain(line);
});
