import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONGEST } from './longest-first.ts';
import { ROOT } from './test-stages.ts';

test.each(LONGEST)('%s is one file', (name) => {
  expect(globSync([`test/**/${name}.*`, `apps/**/${name}.*`], { cwd: ROOT })).toHaveLength(1);
});
