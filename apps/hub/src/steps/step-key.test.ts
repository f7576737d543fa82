import { expect, test } from 'vitest';
import { keyId, parseStepKey, type StepKey } from './step-key.ts';

const key: StepKey = { kind: 'precache', upgrade: '0a1b2c3d-0000-4000-8000-000000000000', cluster: 'spoke-1.example.com' };

test.each([
  { name: 'a step of a cluster', text: keyId(key), want: key },
  { name: 'a kind of an older hub', text: 'placements/uid/', want: undefined },
  { name: 'no cluster', text: 'precache/uid/', want: undefined },
  { name: 'more than identities', text: 'precache/uid/spoke/evil', want: undefined },
  { name: 'a kind that is none', text: 'constructor/uid/spoke', want: undefined },
  { name: 'a path', text: 'precache/uid/../kube-system', want: undefined },
  { name: 'a separator', text: 'precache/a/b/spoke', want: undefined },
  { name: 'a path character', text: 'precache/uid/..\\kube-system', want: undefined },
  { name: 'an endless name', text: `precache/uid/${'a'.repeat(254)}`, want: undefined },
  { name: 'text', text: 'precache', want: undefined },
])('$name', ({ text, want }) => expect(parseStepKey(text)).toEqual(want));

test('different keys have different texts', () => {
  const keys: StepKey[] = [key, { ...key, kind: 'backup' }, { ...key, upgrade: 'x' }, { ...key, cluster: 'y' }];
  expect(new Set(keys.map(keyId)).size).toBe(keys.length);
});
