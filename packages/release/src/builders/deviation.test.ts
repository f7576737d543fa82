import { expect, test } from 'vitest';
import { deviationOf, isSameContent } from './drift.ts';

const metadata = { name: 'a', labels: { a: '1' }, resourceVersion: '1' };

test.each([
  { name: 'an empty object', live: {}, next: { spec: {} } },
  { name: 'an empty list', live: {}, next: { spec: [] } },
  { name: 'false', live: {}, next: { spec: false } },
  { name: 'zero', live: {}, next: { spec: 0 } },
  { name: 'an empty text', live: {}, next: { spec: '' } },
  { name: 'null', live: {}, next: { spec: null } },
  { name: 'a field deep down', live: { spec: { a: [{ b: { c: false } }] } }, next: { spec: { a: [{ b: {} }] } } },
  { name: 'an order', live: { spec: [1, 2] }, next: { spec: [2, 1] } },
  { name: 'a further entry', live: { spec: [1, 2] }, next: { spec: [1] } },
  { name: 'a label', live: { metadata }, next: { metadata: { ...metadata, labels: {} } } },
])('$name is a difference', ({ live, next }) => {
  expect(isSameContent(live, next)).toBe(false);
  expect(deviationOf(live, next)).not.toBe(deviationOf(next, live));
});

test.each([
  { name: 'what the server alone writes', live: { metadata, status: { a: 1 } }, next: { metadata: { ...metadata, resourceVersion: '2' } } },
  { name: 'the order of keys', live: { spec: { a: 1, b: 2 } }, next: { spec: { b: 2, a: 1 } } },
  { name: 'what is undefined', live: { spec: {} }, next: { spec: { a: undefined } } },
])('$name is none', ({ live, next }) => expect(deviationOf(live, next)).toBe(''));

test('the digest is that of the values and their places, whatever the order of keys', () => {
  const digest = (live: object, next: object) => deviationOf({ spec: live }, { spec: next });
  expect(digest({ a: { x: 1, y: 2 }, b: 1 }, {})).toBe(digest({ b: 1, a: { y: 2, x: 1 } }, {}));
  expect(digest({ a: 1, same: 1 }, { same: 1 })).toBe(digest({ a: 1 }, {}));
  expect(digest({ a: 1 }, {})).not.toBe(digest({ a: 2 }, {}));
});
