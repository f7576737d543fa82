import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade, fixOf } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { describeUnknown, findUnknownAnnotation, findUnknownConfigAnnotation } from './annotations.ts';

const find = (...keys: string[]) =>
  findUnknownAnnotation({ metadata: { name: 'u', annotations: Object.fromEntries(keys.map((key) => [key, '2026-01-01T00:00:00Z'])) } });

test.each([
  { name: 'a missing hyphen', key: 'flotilla.io/windowstart', known: Annotation.windowStart },
  { name: 'another case', key: 'flotilla.io/Window-End', known: Annotation.windowEnd },
  { name: 'swapped letters', key: 'flotilla.io/window-strat', known: Annotation.windowStart },
  { name: 'another spelling', key: 'flotilla.io/window-time-zone', known: Annotation.windowTimezone },
  {
    name: 'one of a newer hub',
    key: 'flotilla.io/hold-until-approved',
    known: [Annotation.windowTimezone, Annotation.wavePatience, Annotation.windowStart].join(' or '),
  },
])('$name is told with the annotation that was meant', ({ key, known }) => {
  expect(find(key)).toBe(`${key} is not known; ${fixOf('UnknownAnnotation', { known })}`);
  expect(find(key)).toContain(`did you mean ${known}?`);
});

test('what the hub reads, and what has another prefix, is nothing to tell', () => {
  expect(
    find(Annotation.windowStart, Annotation.windowEnd, Annotation.blockingCompletionMode, 'notflotilla.io/x', 'kubectl.kubernetes.io/a'),
  ).toBe(undefined);
  expect(findUnknownAnnotation({ metadata: { name: 'u' } })).toBeUndefined();
});

test('the first in the order of the alphabet is told, beside good ones, and a long one is cut', () => {
  expect(find('flotilla.io/z', Annotation.windowStart, 'flotilla.io/a')).toMatch(/^flotilla\.io\/a is not known/);
  expect(find(`flotilla.io/${'x'.repeat(300)}`)?.length).toBeLessThan(300);
});

test('a PreCachingConfig has fields and few annotations; the nearest are named', () => {
  const metadata = { name: 'config', namespace: 'ns', annotations: { 'flotilla.io/space-required': '40 GiB' } };
  expect(findUnknownConfigAnnotation({ metadata })).toMatch(
    /^flotilla\.io\/space-required on PreCachingConfig ns\/config is not known; did you mean a field of its spec or flotilla\.io\/node-selector or /,
  );
});

test('the cap of a PreCachingConfig is known, and a typo of it is near', () => {
  const metadata = (key: string) => ({ metadata: { name: 'config', namespace: 'ns', annotations: { [key]: '1000000' } } });
  expect(findUnknownConfigAnnotation(metadata('flotilla.io/bandwidth'))).toBeUndefined();
  expect(findUnknownConfigAnnotation(metadata('flotilla.io/bandwith'))).toContain('did you mean flotilla.io/bandwidth?');
});

test('one that belongs on another kind is told with that kind', () => {
  expect(find('flotilla.io/bandwidth')).toContain('did you mean flotilla.io/bandwidth on the PreCachingConfig?');
  expect(find('flotilla.io/hold')).toContain('did you mean flotilla.io/hold on the ManagedCluster?');
  const metadata = { name: 'config', namespace: 'ns', annotations: { 'flotilla.io/paused': 'x' } };
  expect(findUnknownConfigAnnotation({ metadata })).toContain('did you mean flotilla.io/paused on the ClusterGroupUpgrade?');
});

test('one of a ManagedCluster is told by those of a ManagedCluster', () => {
  const annotations = { 'flotilla.io/http_proxy': 'http://a' };
  expect(describeUnknown({ annotations }, ['flotilla.io/http-proxy', 'flotilla.io/no-proxy'], ' on the ManagedCluster')).toMatch(
    /^flotilla\.io\/http_proxy on the ManagedCluster is not known; did you mean flotilla\.io\/http-proxy\?/,
  );
});

test('every annotation that the schema of an upgrade can carry is judged', () => {
  const upgrade = ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u', annotations: { 'flotilla.io/': '' } } });
  expect(findUnknownAnnotation(upgrade)).toMatch(/is not known/);
});
