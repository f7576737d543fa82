import { expect, test } from 'vitest';
import { parseRate } from './network.ts';

test.each([
  ['20mbit', 20_000_000],
  ['1.5gbit', 1_500_000_000],
  ['800kbit', 800_000],
  ['9bit', 9],
])('reads %s', (text, bits) => expect(parseRate(text)).toBe(bits));

test.each(['20', 'fast', '20mb', '-1mbit', '20 mbit', ''])('refuses %j and shows the form', (text) => {
  expect(() => parseRate(text)).toThrow('20mbit for example');
});
