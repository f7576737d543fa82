import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FlotillaError } from '@flotilla/api';
import type { Log } from './queue-store.ts';

/** Programs of a server, in the order of their search on PATH. */
const PROGRAMS = ['redis-server', 'valkey-server'] as const;
/** Milliseconds within which a server must listen, and end. */
const START_MS = 10_000;
const STOP_MS = 3_000;

/** A Redis or Valkey of this process. */
interface RedisServer {
  readonly program: string;
  /** Unix socket of the server, which has no TCP port. */
  readonly socket: string;
  readonly pid: () => number | undefined;
  readonly stop: () => Promise<void>;
}

/** Finds the first of redis-server and valkey-server on PATH that runs. */
export async function findRedisProgram(): Promise<string | undefined> {
  for (const program of PROGRAMS) if (await runs(program, ['--version'])) return program;
  return undefined;
}

/**
 * Starts a server of our own, reachable by a socket of this user alone. It has no persistence, because its work can be derived anew. It restarts when
 * it dies, ends with this process even after a kill (Linux), and removes its socket.
 */
export async function startRedisServer(program: string, log: Log): Promise<RedisServer> {
  const socket = join(tmpdir(), `flotilla-redis-${randomBytes(6).toString('hex')}.sock`);
  const command = (await runs('setpriv', ['--version'])) ? ['setpriv', '--pdeathsig', 'TERM', program] : [program];
  let child: ChildProcess | undefined;
  let stopping = false;
  const start = () => {
    child = launch([...command, ...serverArgs(socket)]);
    child.once('exit', (code, signal) => {
      child = undefined;
      if (stopping) return;
      log.warn({ program, code, signal }, 'Queue server ended, starting it again');
      setTimeout(() => stopping || start(), 100);
    });
  };
  const killNow = () => child?.kill('SIGKILL');
  process.once('exit', killNow);
  const stop = async () => {
    stopping = true;
    process.off('exit', killNow);
    await end(child);
    await rm(socket, { force: true });
  };
  start();
  try {
    await listening(socket);
  } catch (error) {
    await stop();
    throw error;
  }
  return { program, socket, pid: () => child?.pid, stop };
}

const serverArgs = (socket: string): string[] => {
  const settings = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '700',
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    loglevel: 'warning',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
};

function launch([command = '', ...args]: readonly string[]): ChildProcess {
  // The server sets the rights of its socket after it listens, so the mask must keep others out before.
  const mask = process.umask(0o077);
  const child = spawn(command, args, { stdio: 'ignore' });
  process.umask(mask);
  // A failed start is reported by the failed wait for the socket.
  child.on('error', () => {});
  return child;
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}

function runs(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', timeout: 5_000 });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

async function listening(socket: string): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (await answers(socket)) return;
    await delay(10);
  }
  throw new FlotillaError('FLOTILLA_REDIS_SERVER_FAILED', `the queue server did not listen on ${socket} within ${START_MS} ms`);
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socket);
    const finish = (ok: boolean) => {
      probe.destroy();
      resolve(ok);
    };
    probe.once('connect', () => finish(true));
    probe.once('error', () => finish(false));
  });
}
