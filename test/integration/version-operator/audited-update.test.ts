import { describe, expect, test } from 'vitest';
import { type AuditedWrite, faultsOf } from './audited-update.ts';
import type { ReleasedComponent } from './leveled-release.ts';

const released = (id: string, differs = true) => ({ id, differs, object: {} });
const release: readonly ReleasedComponent[] = [
  {
    level: '10',
    name: 'low',
    hasOperator: true,
    objects: [released('configmaps n/low'), released('deployments n/low'), released('clusteroperators low', false)],
  },
  { level: '20', name: 'high', hasOperator: false, objects: [released('configmaps n/high'), released('serviceaccounts n/high', false)] },
];
const content: Readonly<Record<string, AuditedWrite['object']>> = {
  'deployments/status n/low': { metadata: { generation: 2 }, status: { observedGeneration: 2 } },
  'clusteroperators/status low': { status: { versions: [{ name: 'operator', version: '2' }] } },
};
/** Writes in this order, each of what its id stands for. */
const writes = (...ids: string[]): AuditedWrite[] =>
  ids.map((id, index) => ({ id, revision: index + 1, object: content[id] ?? { metadata: {}, data: { version: '2', index } } }));
const ORDER = ['configmaps n/low', 'deployments n/low', 'deployments/status n/low', 'clusteroperators/status low', 'configmaps n/high'];
const without = (id: string) => ORDER.filter((one) => one !== id);

describe('what an update is told to have done wrong', () => {
  test.each([
    { name: 'nothing, in the right order', ids: ORDER, want: [] },
    {
      name: 'something left out',
      ids: without('configmaps n/high'),
      want: ['configmaps n/high was changed 0 times instead of 1'],
    },
    {
      name: 'something changed twice',
      ids: [...ORDER, 'configmaps n/low'],
      want: ['configmaps n/low was changed 2 times instead of 1'],
    },
    {
      name: 'something changed without need',
      ids: [...ORDER, 'serviceaccounts n/high'],
      want: ['serviceaccounts n/high was changed 1 times instead of 0'],
    },
    {
      name: 'a component out of order',
      ids: ['deployments n/low', 'configmaps n/low', ...ORDER.slice(2)],
      want: ['deployments n/low was written before configmaps n/low'],
    },
    {
      name: 'a level before the roll-out of the one below',
      ids: [...without('deployments/status n/low'), 'deployments/status n/low'],
      want: ['configmaps n/high was written before low had rolled out'],
    },
    {
      name: 'a level before the report of the one below',
      ids: without('clusteroperators/status low'),
      want: ['configmaps n/high was written before low had reported 2'],
    },
  ])('$name', ({ ids, want }) => expect(faultsOf(release, '2', writes(...ids))).toEqual(want));

  test('nothing, where the same is written again', () => {
    const [first, ...rest] = writes(...ORDER);
    const again = { ...first, revision: 100 } as AuditedWrite;
    expect(faultsOf(release, '2', [first as AuditedWrite, ...rest, again])).toEqual([]);
  });
});
