import type { KubeObject } from '@flotilla/api';
import { expect, test } from 'vitest';
import { OwnWrites } from './own-writes.ts';

const version = (resourceVersion: string, uid = 'u'): KubeObject => ({ metadata: { name: 'a', uid, resourceVersion } });

test('what was written counts until the cache shows it, or something newer', () => {
  const writes = new OwnWrites<KubeObject>();
  const [first, second, third, fourth] = ['1', '2', '3', '4'].map((each) => version(each));
  expect(writes.newest(first)).toBe(first);
  writes.note(version('2'));
  writes.note(third ?? version('3'));
  // An answer that was long under way.
  writes.note(version('2'));
  expect(writes.newest(first)).toBe(third);
  expect(writes.newest(second)).toBe(third);
  expect(writes.newest(fourth)).toBe(fourth);
  // It was overtaken: what the cache shows from now on counts, whatever it is.
  expect(writes.newest(first)).toBe(first);
});

test('an object that is gone, or another of its name, is not what was written', () => {
  const writes = new OwnWrites<KubeObject>();
  writes.note(version('2'));
  expect(writes.newest(undefined)).toBeUndefined();
  writes.note(version('2'));
  const other = version('1', 'other');
  expect(writes.newest(other)).toBe(other);
});
