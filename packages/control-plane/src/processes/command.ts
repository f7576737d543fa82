import { spawn } from 'node:child_process';
import { childEnvironment } from '../environment.ts';
import { CommandError } from '../errors.ts';

/** Options of a command. */
export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds until the command is killed; default 60 000. */
  readonly timeoutMs?: number;
  /** Text for the command's standard input. */
  readonly input?: string;
  /** Called with each line of standard error as it comes. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Most that is kept of a command's output, in bytes; what comes after it fails the command. */
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Runs a program to its end and returns its standard output.
 * Throws a CommandError (`FLOTILLA_COMMAND_FAILED`) with the end of its standard error when it fails, is missing or takes too long.
 */
export async function runCommand(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: childEnvironment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  // A program that does not read its input closes the pipe: its exit code tells what is wrong.
  child.stdin.on('error', () => undefined).end(options.input ?? '');
  const failed = new Promise<Error>((resolve) => child.once('error', resolve));
  const closed = new Promise<number | string>((resolve) => child.once('close', (code, by) => resolve(code ?? by ?? 'unknown')));
  const errors = keepEnd(child.stderr, options.onLine);
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_OUTPUT) chunks.push(chunk);
    else child.kill('SIGKILL');
  });
  const outcome = await Promise.race([closed, failed]);
  if (outcome === 0) return Buffer.concat(chunks).toString('utf8');
  throw new CommandError(`${describe(program, args)} ${explain(outcome, limit.aborted, timeoutMs)}${errors() && `: ${errors()}`}`, {
    cause: outcome instanceof Error ? outcome : undefined,
  });
}

const describe = (program: string, args: readonly string[]): string => [program, ...args].join(' ').slice(0, 300);

function explain(outcome: number | string | Error, timedOut: boolean, timeoutMs: number): string {
  if (timedOut) return `took longer than ${timeoutMs / 1000} s`;
  if (outcome instanceof Error) return `could not run: ${outcome.message}`;
  return `ended with ${outcome}`;
}

/** Keeps the last 4 KiB of a stream as text. */
function keepEnd(stream: NodeJS.ReadableStream, onLine?: (line: string) => void): () => string {
  let end = '';
  let partial = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    end = (end + text).slice(-4096);
    if (!onLine) return;
    const lines = (partial + text).split('\n');
    partial = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) onLine(line);
  });
  return () => end.trim();
}

/** Path of a program on the search path (system folders included); undefined when there is none. */
export async function findProgram(name: string): Promise<string | undefined> {
  const path = await runCommand('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', name]).catch(() => '');
  return path.trim() || undefined;
}
