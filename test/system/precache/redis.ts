import { connect } from 'node:net';
import { join } from 'node:path';
import { findProgram, freePorts, startServerProcess } from '@flotilla/control-plane/processes';
import { eventually } from '@flotilla/pace/testing';

/** A redis-server on a free port. */
export interface TestRedis extends AsyncDisposable {
  readonly url: string;
  /** Empties it. */
  flushAll(): Promise<void>;
}

/** Starts a redis-server of the test's own; undefined when there is none on PATH. */
export async function startRedis(dir: string): Promise<TestRedis | undefined> {
  const program = await findProgram('redis-server');
  if (!program) return undefined;
  const [port = 0] = await freePorts(1);
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir];
  const server = await startServerProcess({ name: 'redis', program, args, logFile: join(dir, 'redis.log') });
  await eventually(async () => (await command(port, 'PING')) === '+PONG', 'redis to answer', 20_000);
  return {
    url: `redis://127.0.0.1:${port}`,
    async flushAll() {
      const answer = await command(port, 'FLUSHALL');
      if (answer !== '+OK') throw new Error(`FLUSHALL was answered with ${answer}`);
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** Starts one for a proof that may not be skipped. Throws when there is no redis-server on PATH. */
export async function requireRedis(dir: string): Promise<TestRedis> {
  const redis = await startRedis(dir);
  if (redis) return redis;
  throw new TypeError('redis-server is not on PATH, and this proof of security needs it: install the package redis-server');
}

/** One inline command of the Redis protocol, and the first line of its answer. */
function command(port: number, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\n`));
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer to ${line}`)));
    socket.once('data', (data) => {
      resolve(data.toString('utf8').split('\r\n')[0] ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
