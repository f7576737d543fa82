import { expect, test } from 'vitest';
import { fieldChanges } from './field-changes.ts';

test.each<{ name: string; before: object; after: object; want: object[] }>([
  { name: 'nothing', before: { spec: { a: [1, { b: 2 }] } }, after: { spec: { a: [1, { b: 2 }] } }, want: [] },
  { name: 'a scalar', before: { spec: { a: 1 } }, after: { spec: { a: 2 } }, want: [{ path: 'spec.a', from: 1, to: 2 }] },
  { name: 'what comes', before: { data: {} }, after: { data: { 'a.b': 'x' } }, want: [{ path: 'data."a.b"', to: 'x' }] },
  { name: 'what goes', before: { data: { a: 'x' } }, after: {}, want: [{ path: 'data', from: { a: 'x' } }] },
  {
    name: 'an entry of a list by its name',
    before: { spec: { containers: [{ name: 'a', image: '1' }, { name: 'b' }] } },
    after: { spec: { containers: [{ name: 'a', image: '2' }, { name: 'c' }] } },
    want: [
      { path: 'spec.containers[a].image', from: '1', to: '2' },
      { path: 'spec.containers[b]', from: { name: 'b' } },
      { path: 'spec.containers[c]', to: { name: 'c' } },
    ],
  },
  {
    name: 'an entry by its place where names are missing or doubled',
    before: {
      env: [
        { name: 'a', value: '1' },
        { name: 'a', value: '2' },
      ],
      args: ['x'],
    },
    after: {
      env: [
        { name: 'a', value: '1' },
        { name: 'a', value: '3' },
      ],
      args: ['x', 'y'],
    },
    want: [
      { path: 'env[1].value', from: '2', to: '3' },
      { path: 'args[1]', to: 'y' },
    ],
  },
  {
    name: 'the order alone',
    before: { env: [{ name: 'a' }, { name: 'b' }] },
    after: { env: [{ name: 'b' }, { name: 'a' }] },
    want: [{ path: 'env', from: [{ name: 'a' }, { name: 'b' }], to: [{ name: 'b' }, { name: 'a' }] }],
  },
  { name: 'another type', before: { a: { b: 1 } }, after: { a: [1] }, want: [{ path: 'a', from: { b: 1 }, to: [1] }] },
  {
    name: 'not what a server writes',
    before: { metadata: { name: 'a', uid: '1', resourceVersion: '1', labels: { x: '1' } }, status: { a: 1 } },
    after: { metadata: { name: 'a', uid: '2', generation: 3, labels: { x: '2' } } },
    want: [{ path: 'metadata.labels.x', from: '1', to: '2' }],
  },
])('$name', ({ before, after, want }) => {
  expect(fieldChanges({ ...before }, { ...after })).toEqual(want);
});

test('of very many fields a thousand are told', () => {
  const many = (value: number) => ({ data: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, value])) });
  expect(fieldChanges(many(1), many(2))).toHaveLength(1_000);
});
