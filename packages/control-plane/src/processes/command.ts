import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
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

/** End of a command that may fail. */
interface CommandEnd {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Most that is kept of a command's output, in bytes; what comes after it fails the command. */
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Runs a program to its end and returns its standard output.
 * Throws a CommandError (`FLOTILLA_COMMAND_FAILED`) with the end of its standard error when it fails, is missing or takes too long: then it
 * is killed, with all that it started.
 */
export async function runCommand(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const command = new Command(program, args, options);
  const stdout = command.collect(command.child.stdout);
  await command.succeed();
  return stdout();
}

/** Runs a program to its end, whatever that is. Throws a CommandError when it is missing or takes too long. */
export async function endCommand(program: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandEnd> {
  const command = new Command(program, args, options);
  const [stdout, stderr] = [command.collect(command.child.stdout), command.collect(command.child.stderr)];
  const code = await command.end();
  return { code: typeof code === 'number' ? code : undefined, stdout: stdout(), stderr: stderr() };
}

/** Starts a program whose output is a stream; `done` settles when it has ended, with the same errors as `runCommand`. */
export function startCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): { readonly output: Readable; readonly done: Promise<void> } {
  const command = new Command(program, args, options);
  const done = command.succeed();
  // The caller may still be reading the output when the program fails: the rejection is theirs to await, not an unhandled one.
  done.catch(() => undefined);
  return { output: command.child.stdout, done };
}

/** Path of a program on the search path (system folders included); undefined when there is none. */
export async function findProgram(name: string): Promise<string | undefined> {
  const path = await runCommand('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', name]).catch(() => '');
  return path.trim() || undefined;
}

/** A program under way. */
class Command {
  readonly child: ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
  readonly #said: string;
  readonly #ended: Promise<number | string | Error>;
  readonly #errors: () => string;
  /** Reason for which it was killed. */
  #killed: string | undefined;

  constructor(program: string, args: readonly string[], { cwd, env, timeoutMs = 60_000, input, onLine, signal }: CommandOptions) {
    this.#said = [program, ...args].join(' ').slice(0, 300);
    const child = spawn(program, args, { cwd, env: childEnvironment(env), stdio: ['pipe', 'pipe', 'pipe'] });
    this.child = child;
    // A program that does not read its input closes the pipe: its exit code tells what is wrong.
    child.stdin.on('error', () => undefined).end(input ?? '');
    this.#errors = keepEnd(child.stderr, onLine);
    const timer = setTimeout(() => this.#kill(`took longer than ${timeoutMs / 1000} s`), timeoutMs);
    const giveUp = () => this.#kill('was given up');
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) giveUp();
    this.#ended = new Promise<number | string | Error>((resolve) => {
      child.once('error', resolve);
      child.once('close', (code, by) => resolve(code ?? by ?? 'unknown'));
    }).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    });
  }

  /** Resolves with its exit code or signal. */
  async end(): Promise<number | string> {
    const outcome = await this.#ended;
    if (this.#killed !== undefined) throw this.#failure(this.#killed);
    if (outcome instanceof Error) throw this.#failure(`could not run: ${outcome.message}`, outcome);
    return outcome;
  }

  async succeed(): Promise<void> {
    const outcome = await this.end();
    if (outcome !== 0) throw this.#failure(`ended with ${outcome}`);
  }

  /** Collects what a stream says, up to the bound. */
  collect(stream: Readable): () => string {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer | string) => {
      size += chunk.length;
      if (size <= MAX_OUTPUT) chunks.push(Buffer.from(chunk));
      else this.#kill(`printed more than ${MAX_OUTPUT / 1024 / 1024} MiB`);
    });
    return () => Buffer.concat(chunks).toString('utf8');
  }

  #kill(why: string): void {
    this.#killed ??= why;
    const { pid, stdout, stderr } = this.child;
    if (pid !== undefined && this.child.exitCode === null) killWithChildren(pid);
    // Nobody waits for a pipe that a process outside the tree may hold.
    for (const stream of [stdout, stderr]) stream.destroy();
  }

  #failure(how: string, cause?: Error): CommandError {
    const errors = this.#errors();
    return new CommandError(`${this.#said} ${how}${errors && `: ${errors}`}`, { cause });
  }
}

/** Kills a process and all below it. It is stopped first, so that it starts nothing in between. */
function killWithChildren(pid: number): void {
  if (!send(pid, 'SIGSTOP')) return;
  for (const child of childrenOf(pid)) killWithChildren(child);
  send(pid, 'SIGKILL');
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    // It ended by itself, or belongs to somebody else.
    return false;
  }
}

/** Children of all its threads; none where the kernel does not tell. */
function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

/** Keeps the last 4 KiB of a stream as text. */
function keepEnd(stream: Readable, onLine?: (line: string) => void): () => string {
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
