import { expect, test } from 'vitest';
import { keyText, parseSpokeKey, type SpokeKey, wholeText } from './part.ts';

const key: SpokeKey = { upgrade: '0a1b2c3d-0000-4000-8000-000000000000', cluster: 'spoke-1.example.com' };

test.each([
  { name: 'a spoke of an upgrade', text: keyText(key), want: key },
  { name: 'all spokes of an upgrade', text: wholeText('uid'), want: undefined },
  { name: 'a step of an older hub', text: 'precache/uid/spoke', want: undefined },
  { name: 'more than identities', text: 'uid/spoke/evil', want: undefined },
  { name: 'a path', text: 'uid/../kube-system', want: undefined },
  { name: 'a path character', text: 'uid/..\\kube-system', want: undefined },
  { name: 'no upgrade', text: '/spoke', want: undefined },
  { name: 'an endless upgrade', text: `${'a'.repeat(129)}/spoke`, want: undefined },
  { name: 'an endless cluster', text: `uid/${'a'.repeat(254)}`, want: undefined },
  { name: 'text', text: 'uid', want: undefined },
  { name: 'nothing', text: '', want: undefined },
])('$name', ({ text, want }) => {
  expect(parseSpokeKey(text)).toEqual(want);
  // A second time, because keys are cached.
  expect(parseSpokeKey(text)).toEqual(want);
});

test('different keys have different texts, and none is that of all spokes', () => {
  const keys: SpokeKey[] = [key, { ...key, upgrade: 'x' }, { ...key, cluster: 'y' }];
  const texts = [...keys.map(keyText), wholeText(key.upgrade), wholeText('x')];
  expect(new Set(texts).size).toBe(texts.length);
});
