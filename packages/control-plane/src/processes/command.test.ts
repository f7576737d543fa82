import { expect, test } from 'vitest';
import { findProgram, runCommand } from './command.ts';

test('returns the output and passes the input on', async () => {
  expect(await runCommand('cat', [], { input: 'hello' })).toBe('hello');
});

test('hands out lines of standard error as they come', async () => {
  const lines: string[] = [];
  await runCommand('sh', ['-c', 'echo one >&2; echo two >&2'], { onLine: (line) => lines.push(line) });
  expect(lines).toEqual(['one', 'two']);
});

test.each([
  { name: 'exit code and standard error', program: 'sh', args: ['-c', 'echo broken >&2; exit 3'], want: /ended with 3: broken/ },
  { name: 'a program that is not there', program: 'no-such-program-here', args: [], want: /could not run: .*ENOENT/ },
])('an error tells $name', async ({ program, args, want }) => {
  await expect(runCommand(program, args)).rejects.toThrow(want);
  await expect(runCommand(program, args)).rejects.toMatchObject({ code: 'FLOTILLA_COMMAND_FAILED' });
});

test('kills a command that takes too long', async () => {
  await expect(runCommand('sleep', ['30'], { timeoutMs: 50 })).rejects.toThrow('took longer than 0.05 s');
});

test('finds programs, or says that there is none', async () => {
  expect(await findProgram('sh')).toMatch(/\/sh$/);
  expect(await findProgram('no-such-program-here')).toBeUndefined();
});
