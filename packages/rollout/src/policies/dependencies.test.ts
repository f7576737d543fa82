import { expect, test } from 'vitest';
import { buildPolicy } from '../../testing/policy-builders.ts';
import { findUnresolvableDependency } from './dependencies.ts';

const policy = (name: string, dependencies?: unknown[]) => ({
  name,
  namespace: 'policies',
  policy: buildPolicy(name, { spec: { dependencies } }),
});
const on = (name: string, more: Record<string, unknown> = { namespace: 'policies' }) => [{ kind: 'Policy', name, ...more }];

test.each([
  { name: 'accepts a dependency that comes earlier', order: [policy('a'), policy('b', on('a'))], want: undefined },
  { name: 'accepts a dependency that is none of the upgrade', order: [policy('a', on('z')), policy('b')], want: undefined },
  { name: 'refuses a dependency that comes later', order: [policy('a', on('b')), policy('b')], want: { policy: 'a', dependency: 'b' } },
  {
    name: 'takes a dependency without a namespace as one of its own',
    order: [policy('a', on('b', {})), policy('b')],
    want: { policy: 'a', dependency: 'b' },
  },
  {
    name: 'accepts a later policy of the same name elsewhere',
    order: [policy('a', on('b', { namespace: 'other' })), policy('b')],
    want: undefined,
  },
  {
    name: 'ignores dependencies on other kinds',
    order: [policy('a', on('b', { kind: 'ConfigurationPolicy' })), policy('b')],
    want: undefined,
  },
  { name: 'survives dependencies that are none', order: [policy('a', [null, 7, {}, { name: [] }]), policy('b')], want: undefined },
])('$name', ({ order, want }) => expect(findUnresolvableDependency(order)).toEqual(want));
