import { WorkStatusBound } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { newReading, readFeedback } from './feedback.ts';

const deployment = (generation: number, observedGeneration?: number) => ({
  metadata: { name: 'app', generation },
  status: { observedGeneration, availableReplicas: 1 },
});
const rules = [{ type: 'JSONPaths', jsonPaths: [{ name: 'Available', path: '.status.availableReplicas' }] }];
const apps = { group: 'apps', version: 'v1', kind: 'Deployment' };
const available = [{ name: 'Available', fieldValue: { type: 'Integer', integer: 1 } }];

test('a status that is older than the spec is not read back from a workload', () => {
  expect(readFeedback(deployment(2, 1), apps, { rules })).toMatchObject({
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
  expect(readFeedback(object, kind, { rules })).toMatchObject({ values: available, condition: { status: 'True' } }),
);

test('read as the stock agent does, it is handed on, with the generations it is of', () => {
  const generations = [
    { name: 'generation', path: '.metadata.generation' },
    { name: 'observed', path: '.status.observedGeneration' },
  ];
  const both = [...rules, { type: 'JSONPaths', jsonPaths: generations }];
  expect(readFeedback(deployment(2, 1), apps, { rules: both, reading: newReading('immediate') })).toMatchObject({
    values: [
      ...available,
      { name: 'generation', fieldValue: { type: 'Integer', integer: 2 } },
      { name: 'observed', fieldValue: { type: 'Integer', integer: 1 } },
    ],
    condition: { status: 'True' },
  });
});

describe('a value that the hub would refuse is left out, said, and costs no other:', () => {
  const configMap = { group: '', version: 'v1', kind: 'ConfigMap' };
  const read = (data: Record<string, string>, reading = newReading()) =>
    readFeedback({ data }, configMap, {
      rules: [{ type: 'JSONPaths', jsonPaths: Object.keys(data).map((name) => ({ name, path: `.data['${name}']` })) }],
      reading,
    });
  const namesOf = ({ values }: ReturnType<typeof readFeedback>) => values.map(({ name }) => name);

  test('a long one', () => {
    const feedback = read({ long: 'x'.repeat(WorkStatusBound.value + 1), longest: 'x'.repeat(WorkStatusBound.value), short: 'x' });
    expect(namesOf(feedback)).toEqual(['longest', 'short']);
    expect(feedback.condition).toMatchObject({
      status: 'False',
      message: expect.stringContaining('long: left out, it has 65537 characters'),
    });
  });

  test('one with a long name', () => {
    const feedback = read({ ['n'.repeat(WorkStatusBound.name + 1)]: 'x', short: 'x' });
    expect(namesOf(feedback)).toEqual(['short']);
    expect(feedback.condition.message).toContain('its name has 254 characters');
  });

  test('one too many', () => {
    const feedback = read(Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`v${n}`, 'x'])));
    expect(feedback.values).toHaveLength(WorkStatusBound.values);
    expect(feedback.condition.message).toContain('v64: left out, a manifest reports 64 values at most');
  });

  test('one beyond the room of the whole work', () => {
    const reading = newReading();
    const half = { first: 'x'.repeat(60_000) };
    expect([namesOf(read(half, reading)), namesOf(read(half, reading))]).toEqual([['first'], ['first']]);
    const feedback = read({ ...half, short: 'x' }, reading);
    expect(namesOf(feedback)).toEqual(['short']);
    expect(feedback.condition.message).toContain('first: left out, it has 60000 characters, and a work reports 131072 at most');
  });
});
