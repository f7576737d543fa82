import { existsSync } from 'node:fs';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { endCommand, findProgram, runCommand, startCommand } from './command.ts';

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

test('kills what a command has started with it', async () => {
  const pids: string[] = [];
  const nested = 'sh -c "sleep 30 & echo \\$! >&2; wait" & echo $! >&2; wait';
  const stop = new AbortController();
  const running = runCommand('sh', ['-c', nested], { signal: stop.signal, onLine: (pid) => pids.push(pid) });
  await eventually(() => pids.length === 2, 'both processes', 10_000, 5);
  stop.abort();
  await expect(running).rejects.toThrow('was given up');
  await eventually(() => !pids.some((pid) => existsSync(`/proc/${pid}`)), 'their end', 10_000, 5);
});

test('a command that prints without end is killed', async () => {
  await expect(runCommand('cat', ['/dev/zero'])).rejects.toThrow('printed more than 64 MiB');
});

test('tells how a command ended, with all that it said', async () => {
  expect(await endCommand('sh', ['-c', 'echo out; echo err >&2; exit 3'])).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' });
  await expect(endCommand('no-such-program-here', [])).rejects.toThrow('could not run');
});

test('hands out a stream, whose command may fail later', async () => {
  const { output, done } = startCommand('sh', ['-c', 'echo first; exit 4']);
  let text = '';
  for await (const chunk of output) text += chunk;
  expect(text).toBe('first\n');
  await expect(done).rejects.toThrow('ended with 4');
});

test('finds programs, or says that there is none', async () => {
  expect(await findProgram('sh')).toMatch(/\/sh$/);
  expect(await findProgram('no-such-program-here')).toBeUndefined();
});
