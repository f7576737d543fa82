import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { FlotillaError } from '@flotilla/api';

/** How one external program is run. */
interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds until the program is ended; default 300 000. */
  readonly timeoutMs?: number;
}

const MAX_OUTPUT = 1024 * 1024;

/**
 * Runs a program and returns what it printed, at most 1 MiB of it.
 * Throws `FLOTILLA_IMAGES_COMMAND` naming the program and the end of its error output, and `cause` when it could not start.
 */
export async function runCommand(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { output, done } = startCommand(program, args, options);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of output) {
    if (size < MAX_OUTPUT) chunks.push(Buffer.from(chunk));
    size += chunk.length;
  }
  await done;
  return Buffer.concat(chunks).subarray(0, MAX_OUTPUT).toString('utf8');
}

/** Starts a program whose output is a stream; `done` settles when it has ended, with the same errors as `runCommand`. */
export function startCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): { output: Readable; done: Promise<void> } {
  const timeoutMs = options.timeoutMs ?? 300_000;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Option `timeout` keeps a program alive for as long where the child never began.
    signal: AbortSignal.timeout(timeoutMs),
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-2048);
  });
  const done = new Promise<void>((resolve, reject) => {
    child.on('error', (cause) => {
      const isLate = cause.name === 'AbortError';
      const says = isLate ? `${program} took longer than ${timeoutMs / 1000} s` : `cannot start ${program}: is it installed and on PATH?`;
      reject(new FlotillaError('FLOTILLA_IMAGES_COMMAND', says, { cause }));
    });
    child.on('close', (code, signal) => {
      if (code === 0) return resolve();
      const how = signal ? `was ended by ${signal}` : `exited with code ${code}`;
      reject(new FlotillaError('FLOTILLA_IMAGES_COMMAND', `${program} ${args.at(-1) ?? ''} ${how}: ${stderr.trim()}`));
    });
  });
  // The caller may still be reading the output when the program fails: the rejection is theirs to await, not an unhandled one.
  done.catch(() => undefined);
  return { output: child.stdout, done };
}
