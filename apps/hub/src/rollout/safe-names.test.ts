import { ClusterGroupUpgrade } from '@flotilla/api';
import { expect, test } from 'vitest';
import { desiredPlacementName, nameSuffix, resourceName, safeName } from './safe-names.ts';

const upgrade = (parts: { uid?: string; annotations?: Record<string, string>; status?: object } = {}) =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'upgrade', namespace: 'ns', uid: parts.uid ?? 'uid-1', annotations: parts.annotations },
    status: parts.status,
  });

test.each([
  { name: 'a short name gets its suffix', desired: 'a-b-placement', namespace: 'ns', want: 'a-b-placement-x1y2z' },
  { name: 'what is neither letter, digit nor dash at the end goes', desired: 'a.b._', namespace: '', want: 'a.b-x1y2z' },
  {
    name: 'a long name is cut so that namespace and name have room',
    desired: 'x'.repeat(300),
    namespace: 'policies',
    want: `${'x'.repeat(253 - 5 - 8 - 1)}-x1y2z`,
  },
])('$name', ({ desired, namespace, want }) => expect(safeName(desired, namespace, 'x1y2z')).toBe(want));

test('the suffix follows from upgrade and name, and differs between either', () => {
  const suffix = nameSuffix(upgrade(), 'a');
  expect(suffix).toMatch(/^[0-9a-z]{5}$/);
  expect(nameSuffix(upgrade(), 'a')).toBe(suffix);
  expect(new Set([suffix, nameSuffix(upgrade(), 'b'), nameSuffix(upgrade({ uid: 'uid-2' }), 'a')]).size).toBe(3);
});

test('the annotation decides the suffix, and a name that was given stays', () => {
  const annotations = { 'cluster-group-upgrades-operator/name-suffix': 'kuttl' };
  expect(resourceName(upgrade({ annotations }), 'a', 'ns')).toBe('a-kuttl');
  const status = { safeResourceNames: { 'ns/a': 'a-old01' } };
  expect(resourceName(upgrade({ annotations, status }), 'a', 'ns')).toBe('a-old01');
  expect(resourceName(upgrade({ annotations, status }), 'a', 'other')).toBe('a-kuttl');
});

test('names of Placements are lower case', () => expect(desiredPlacementName('Up', 'Pol.B')).toBe('up-pol.b-placement'));
