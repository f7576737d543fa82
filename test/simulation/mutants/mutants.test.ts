import { expect, test } from 'vitest';
import { mutants } from './mutants.ts';
import { mutatedText } from './mutated.ts';

test.each(mutants)('$name can still be put into the code', (mutant) => {
  expect(mutatedText(mutant)).toContain(mutant.to);
});
