import type { MachineConfigNode, MachineConfigPool, PinnedImageSet } from '@flotilla/api/machine';
import { expect, test } from 'vitest';
import { findDegraded, findUnfilled, MOST_IMAGES, pinnedNodes, planSets } from './plan.ts';

const ROLE = 'machineconfiguration.openshift.io/role';
const digest = (n: number) => `sha256:${n.toString(16).padStart(64, '0')}`;
const image = (n: number, repository = 'quay.test/release/part') => `${repository}@${digest(n)}`;
const pool = (name: string, { selector, machines = 1, degraded }: { selector?: object; machines?: number; degraded?: string } = {}) =>
  ({
    metadata: { name },
    spec: { machineConfigSelector: selector ?? { matchLabels: { [ROLE]: name } } },
    status: {
      machineCount: machines,
      updatedMachineCount: machines,
      conditions: degraded === undefined ? [] : [{ type: 'PinnedImageSetsDegraded', status: 'True', message: degraded }],
    },
  }) as MachineConfigPool;
const node = (name: string, of: string, sets: Readonly<Record<string, number>> = {}, degraded?: string) =>
  ({
    metadata: { name },
    spec: { pool: { name: of } },
    status: {
      conditions: degraded === undefined ? [] : [{ type: 'PinnedImageSetsDegraded', status: 'True', message: degraded }],
      pinnedImageSets: Object.entries(sets).map(([set, currentGeneration]) => ({ name: set, currentGeneration })),
    },
  }) as MachineConfigNode;
const set = (name: string, role: string, generation: number) =>
  ({ metadata: { name, generation, labels: { [ROLE]: role } } }) as unknown as PinnedImageSet;
const roles = (...pools: MachineConfigPool[]) => planSets([image(1)], pools, 'uid').sets.map(({ role }) => role);

test('each pool with nodes gets a set, and one that takes that of the workers gets none of its own', () => {
  const custom = { matchExpressions: [{ key: ROLE, operator: 'In', values: ['worker', 'infra'] }] };
  expect(roles(pool('infra', { selector: custom }), pool('worker'), pool('master'))).toEqual(['master', 'worker']);
  expect(roles(pool('infra', { selector: custom }), pool('worker', { machines: 0 }), pool('master'))).toEqual(['master', 'infra']);
  expect(roles(pool('master'), pool('worker', { machines: 0 }))).toEqual(['master']);
});

test.each([
  ['a tag', 'quay.test/release/part:v1'],
  ['a tag and a digest', `quay.test/release/part:v1@${digest(1)}`],
  ['a host without a dot', image(1, 'localhost:5000/part')],
  ['two folders', image(1, 'quay.test/one/two/part')],
  ['another digest', `quay.test/release/part@sha512:${'0'.repeat(128)}`],
  ['a very long name', image(1, `quay.test/${'x'.repeat(400)}`)],
])('a name with %s is left, and the others are pinned', (_, name) => {
  expect(planSets([image(2), name], [pool('master')], 'uid')).toEqual({
    sets: [{ name: 'flotilla-uid-master', role: 'master', images: [image(2)] }],
    left: [name],
  });
});

test('more images than a set takes go into more sets, and more than those take are left', () => {
  const many = Array.from({ length: MOST_IMAGES + 1 }, (_, n) => image(n));
  const { sets, left } = planSets([...many, many[0] ?? ''], [pool('master')], 'uid');
  expect(sets.map(({ name, images }) => [name, images.length])).toEqual([
    ['flotilla-uid-master', MOST_IMAGES],
    ['flotilla-uid-master-2', 1],
  ]);
  expect(left).toEqual([]);
  const tooMany = Array.from({ length: 10 * MOST_IMAGES + 7 }, (_, n) => image(n));
  const all = planSets(tooMany, [pool('master')], 'uid');
  expect([all.sets.length, all.left.length]).toEqual([10, 7]);
});

test('a node or pool that is degraded is named; one that only takes its time is not', () => {
  const goesOn = 'Error: requeue: prefetching images incomplete after: 2m0s';
  expect(findDegraded({ pools: [pool('master')], nodes: [node('a', 'master', {}, goesOn)] })).toBeUndefined();
  expect(findDegraded({ pools: [pool('master')], nodes: [node('a', 'master', {}, 'Error: no auth')] })).toBe('node a: Error: no auth');
  expect(findDegraded({ pools: [pool('master', { degraded: 'bad' })], nodes: [node('a', 'master')] })).toBe('pool master: bad');
});

test('a node that was not filled is named', () => {
  const facts = { pools: [], nodes: [node('a', 'master'), node('b', 'worker')] };
  expect(findUnfilled(facts, ['a', 'b', 'c'])).toBeUndefined();
  expect(findUnfilled(facts, ['a'])).toBe('b');
});

test('a node has pinned when it says so of every set of its pool, as that is now', () => {
  const sets = [set('m', 'master', 2), set('m-2', 'master', 1), set('w', 'worker', 1)];
  const facts = {
    pools: [pool('master'), pool('worker')],
    nodes: [
      node('whole', 'master', { m: 2, 'm-2': 1 }),
      node('old', 'master', { m: 1, 'm-2': 1 }),
      node('part', 'master', { m: 2 }),
      node('worker', 'worker', { w: 1 }),
      node('nowhere', 'gone', { w: 1 }),
    ],
  };
  expect(pinnedNodes(facts, sets)).toEqual(['whole', 'worker']);
});
