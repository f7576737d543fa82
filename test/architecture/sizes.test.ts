import { expect, test } from 'vitest';
import { texts } from './repository.ts';

/** Sources that print sizes by themselves, and why `bytes` of `@flotilla/api/units` does not for them. */
const OWN = new Map([['apps/image-puller/src/space/space.ts', 'says the space in GiB, as spaceRequired has it']]);

/** A value in a template with a unit of bytes behind it. */
const OWN_SIZE = /\} ?[kMGT]i?B\b/;
const isProgram = (file: string): boolean => /^(apps|packages\/(?!control-plane\/)|tools|demo)/.test(file) && !file.includes('.test.');

test('sizes are printed by one function, but where a reason is given', () => {
  const found = [...texts].filter(([file, text]) => isProgram(file) && OWN_SIZE.test(text)).map(([file]) => file);
  expect(found.toSorted()).toEqual([...OWN.keys()]);
});
