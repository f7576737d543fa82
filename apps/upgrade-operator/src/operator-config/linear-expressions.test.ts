import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test.each(['^(a|aa)+$', '(a+)+$', '^(a|b|ab)*c$'])('%s is through with the longest name of a namespace in no time', async (pattern) => {
  const name = `${'a'.repeat(62)}!`;
  const module = JSON.stringify(new URL('linear-expressions.ts', import.meta.url).href);
  const script = `const { keepExpressionsLinear } = await import(${module}); keepExpressionsLinear(); console.log(${new RegExp(pattern)}.test('${name}'));`;
  // In a process of its own: the engine is the process's. Without it, this takes years.
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 25_000 });
  expect(stdout.trim()).toBe('false');
});
