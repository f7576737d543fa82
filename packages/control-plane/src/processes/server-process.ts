import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { childEnvironment } from '../environment.ts';
import { ServerStartError } from '../errors.ts';

interface ServerProcessOptions {
  /** Name for messages. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** File that gets standard output and error. */
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A program that runs until it is stopped. */
export interface ServerProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** True once it ended. */
  hasExited(): boolean;
  /** Resolves when it ended, however that came. */
  readonly exited: Promise<void>;
  /** SIGTERM (or `signal`), after `graceMs` (default 5 000) SIGKILL; resolves when it ended. */
  stop(options?: { readonly signal?: NodeJS.Signals; readonly graceMs?: number }): Promise<void>;
}

const SETPRIV = '/usr/bin/setpriv';

/**
 * Starts a program in a session of its own, so that Ctrl-C reaches us first and we end it in order.
 * On Linux the kernel ends it with SIGKILL when this process dies in whatever way.
 * Throws ServerStartError when it cannot be executed.
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const [program, args] = existsSync(SETPRIV)
    ? [SETPRIV, ['--pdeathsig', 'KILL', '--', options.program, ...options.args]]
    : [options.program, [...options.args]];
  // A program that is not there would end behind setpriv, unseen until somebody waits for it.
  if (!isThere(options))
    throw new ServerStartError(`starting ${options.name}: there is no program ${options.program}; npm run setup installs it`);
  const log = await open(options.logFile, 'a');
  try {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: childEnvironment(options.env),
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) =>
        reject(new ServerStartError(`starting ${options.name} (${options.program}): ${cause.message}`, { cause })),
      );
    });
    return serverProcess(options, child, exited);
  } finally {
    await log.close();
  }
}

function isThere({ program, env }: Pick<ServerProcessOptions, 'program' | 'env'>): boolean {
  if (program.includes('/')) return existsSync(program);
  const folders = (childEnvironment(env).PATH ?? '').split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}

function serverProcess(options: ServerProcessOptions, child: ChildProcess, exited: Promise<void>): ServerProcess {
  const { pid } = child;
  if (pid === undefined) throw new ServerStartError(`starting ${options.name}: it has no pid`);
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  const stop: ServerProcess['stop'] = async ({ signal = 'SIGTERM', graceMs = 5_000 } = {}) => {
    if (hasExited()) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exited;
    clearTimeout(timer);
  };
  return { name: options.name, pid, logFile: options.logFile, hasExited, exited, stop, [Symbol.asyncDispose]: () => stop() };
}

/** Last lines of a log, for messages. */
export async function logEnd(file: string, bytes = 1_500): Promise<string> {
  try {
    await using handle = await open(file, 'r');
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, Math.max(0, size - bytes));
    return buffer.subarray(0, bytesRead).toString('utf8').trim();
  } catch {
    return '';
  }
}
