import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { desiredPlacementName, nameSuffix, placementName, resourceName, safeName } from './safe-names.ts';

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

const long = { name: `du-upgrade-operators-${'x'.repeat(30)}`, namespace: 'ztp-group' };
const suffixed = (suffix: string) => upgrade({ annotations: { 'cluster-group-upgrades-operator/name-suffix': suffix } });

test('names of Placements are label values: at most 63 characters, told apart by a hash, with the suffix', () => {
  expect(placementName(suffixed('kuttl'), { name: 'p0', namespace: 'ns' })).toBe('upgrade-p0-placement-kuttl');
  const name = placementName(suffixed('kuttl'), long);
  expect(name).toHaveLength(63);
  expect(name).toMatch(/^upgrade-du-upgrade-operators-x+-[0-9a-z]{5}-kuttl$/);
  expect(placementName(suffixed('kuttl'), { ...long, name: `${long.name}y` })).not.toBe(name);
  expect(placementName(upgrade(), long)).toMatch(/^.{51}-[0-9a-z]{5}-[0-9a-z]{5}$/);
});

test.each(['s'.repeat(40), 's'.repeat(63)])('also with the suffix %s', (suffix) => {
  const names = ['a', 'b'].map((end) => placementName(suffixed(suffix), { ...long, name: `${long.name}${end}` }));
  for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/);
  expect(names[0]).not.toBe(names[1]);
});

test('a name that is too long is left, even when the status has it; a good one stays', () => {
  const key = `${long.namespace}/upgrade-${long.name}-placement`;
  const stored = (name: string) => upgrade({ status: { safeResourceNames: { [key]: name } } });
  expect(placementName(stored('x'.repeat(64)), long)).toBe(placementName(upgrade(), long));
  expect(placementName(stored('x'.repeat(63)), long)).toBe('x'.repeat(63));
});

test('strictly names of Placements are literal, however long', () => {
  const whole = `upgrade-${long.name}-placement-kuttl`;
  expect(whole.length).toBeGreaterThan(63);
  expect(placementName(suffixed('kuttl'), long, true)).toBe(whole);
});

test('strictly a name that was given stays, so that switching the mode renames nothing', () => {
  const key = `${long.namespace}/upgrade-${long.name}-placement`;
  const cut = placementName(upgrade(), long);
  expect(placementName(upgrade({ status: { safeResourceNames: { [key]: cut } } }), long, true)).toBe(cut);
});
