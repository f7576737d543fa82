import { expect, test } from 'vitest';
import { expectedOperator } from './cluster-operator.ts';

test('what a related object leaves out is an empty text: its kind demands it', () => {
  const relatedObjects = [{ group: 'operator.openshift.io', resource: 'kubeapiservers', name: 'cluster' }, { resource: 'nodes' }];
  const manifest = { metadata: { name: 'etcd' }, status: { versions: [{ name: 'operator', version: '4.20.1' }], relatedObjects } };
  expect(expectedOperator(manifest)).toEqual({
    name: 'etcd',
    versions: [{ name: 'operator', version: '4.20.1' }],
    relatedObjects: [relatedObjects[0], { group: '', resource: 'nodes', name: '' }],
  });
});
