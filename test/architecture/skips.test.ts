import { expect, test } from 'vitest';
import { texts } from './repository.ts';

// The lists at the end of a run give the reasons; a test that is left out by its condition alone has none. Tiers above print theirs for whole files.
test('what any machine runs skips with a reason, by context.skip(reason)', () => {
  const isChecked = (file: string): boolean => file.includes('.test.') && !/^test\/(system|e2e|architecture)\//.test(file);
  const found = [...texts].filter(([file, text]) => isChecked(file) && /\.(?:skipIf|runIf)\(/.test(text)).map(([file]) => file);
  expect(found).toEqual([]);
});
