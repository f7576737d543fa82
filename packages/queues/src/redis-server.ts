import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FlotillaError } from '@flotilla/api';
import type { Log } from './queue-store.ts';

/** Programs that can serve, in the order they are looked for on PATH. */
const PROGRAMS = ['redis-server', 'valkey-server'] as const;
/** How long a server may take to listen, and to end, in milliseconds. */
const START_MS = 10_000;
const STOP_MS = 3_000;

/** A Redis or Valkey this process started. */
interface RedisServer {
  readonly program: string;
  /** Unix socket it listens on; there is no TCP port. */
  readonly socket: string;
  readonly pid: () => number | undefined;
  readonly stop: () => Promise<void>;
}

/** The first of redis-server and valkey-server on PATH that runs, or undefined. */
export async function findRedisProgram(): Promise<string | undefined> {
  for (const program of PROGRAMS) if (await runs(program, ['--version'])) return program;
  return undefined;
}

/**
 * Starts a server of our own: reachable through a socket only this user can open, without persistence (it holds work, which is
 * derived anew), started again when it dies, ended with this process even when that is killed (Linux). It takes the socket with it.
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
  // It sets the rights of its socket after it has begun to listen: nobody else may open that before.
  const mask = process.umask(0o077);
  const child = spawn(command, args, { stdio: 'ignore' });
  process.umask(mask);
  // A failed start also ends in a failed wait for the socket, which is where it is reported.
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
    const settle = (ok: boolean) => {
      probe.destroy();
      resolve(ok);
    };
    probe.once('connect', () => settle(true));
    probe.once('error', () => settle(false));
  });
}
