import { expect, test } from 'vitest';
import { perObject } from './per-object.ts';

test('the result is made once for each object, also where it is undefined', () => {
  const asked: object[] = [];
  const size = perObject((object: { readonly size?: number }) => {
    asked.push(object);
    return object.size;
  });
  const [one, other] = [{ size: 1 }, {}];
  expect([size(one), size(other), size(one), size(other)]).toEqual([1, undefined, 1, undefined]);
  expect(asked).toEqual([one, other]);
});

test('what failed is tried again', () => {
  let attempts = 0;
  const second = perObject(() => {
    attempts += 1;
    if (attempts === 1) throw new Error('not yet');
    return attempts;
  });
  const object = {};
  expect(() => second(object)).toThrow('not yet');
  expect(second(object)).toBe(2);
});
