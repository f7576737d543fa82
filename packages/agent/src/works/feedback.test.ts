import { expect, test } from 'vitest';
import { readFeedback } from './feedback.ts';

const deployment = (generation: number, observedGeneration?: number) => ({
  metadata: { name: 'app', generation },
  status: { observedGeneration, availableReplicas: 1 },
});
const rules = [{ type: 'JSONPaths', jsonPaths: [{ name: 'Available', path: '.status.availableReplicas' }] }];
const apps = { group: 'apps', version: 'v1', kind: 'Deployment' };
const available = [{ name: 'Available', fieldValue: { type: 'Integer', integer: 1 } }];

test('a status that is older than the spec is not read back from a workload', () => {
  expect(readFeedback(deployment(2, 1), apps, rules)).toMatchObject({
    values: [],
    condition: {
      status: 'False',
      reason: 'StatusFeedbackSyncFailed',
      message: expect.stringContaining('generation 1, the object is at 2'),
    },
  });
});

test.each([
  { name: 'is of its spec', object: deployment(2, 2), kind: apps },
  { name: 'does not say what it is of', object: deployment(2), kind: apps },
  { name: 'is of a kind whose controllers count otherwise', object: deployment(2, 1), kind: { ...apps, group: 'example.com' } },
])('a status is read back when it $name', ({ object, kind }) =>
  expect(readFeedback(object, kind, rules)).toMatchObject({ values: available, condition: { status: 'True' } }),
);

test('read as the stock agent does, it is handed on, with the generations it is of', () => {
  const generations = [
    { name: 'generation', path: '.metadata.generation' },
    { name: 'observed', path: '.status.observedGeneration' },
  ];
  const both = [...rules, { type: 'JSONPaths', jsonPaths: generations }];
  expect(readFeedback(deployment(2, 1), apps, both, 'immediate')).toMatchObject({
    values: [
      ...available,
      { name: 'generation', fieldValue: { type: 'Integer', integer: 2 } },
      { name: 'observed', fieldValue: { type: 'Integer', integer: 1 } },
    ],
    condition: { status: 'True' },
  });
});
