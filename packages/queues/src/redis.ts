import { isIP } from 'node:net';
import { errorMessage } from '@flotilla/api';
import { tlsContext } from '@flotilla/http';
import { backOffMs } from '@flotilla/pace';
import type { Logger, OpenBackend } from '@flotilla/runtime';
import { type RedisOptions as ClientOptions, Command, Redis } from 'ioredis';
import { BullmqBackend } from './keys.ts';

/** Time-out of the first answer, in milliseconds: a server that starts beside this process may need a while. */
const FIRST_ANSWER_MS = 10_000;
/** Time-out of an add, in milliseconds. */
const ADD_TIMEOUT_MS = 5_000;

/** Options of `openRedis`. */
export interface RedisOptions {
  /** Certificate authorities for a `rediss://` URL, PEM; empty or undefined: the system's. */
  readonly redisCa?: string | undefined;
  /** Milliseconds that a process keeps its runs after its death, twice at most; default 15 000. */
  readonly lockMs?: number;
  /** Milliseconds between checks for an emptied store; default 2 000. */
  readonly watchdogMs?: number;
  readonly log: Pick<Logger, 'debug'>;
}

/** Opens queues on a Redis or Valkey server; rejects when it does not answer. */
export async function openRedis(url: URL, { lockMs = 15_000, watchdogMs = 2_000, ...options }: RedisOptions) {
  // Producers fail at once without the server; workers wait for it.
  const producers = connect(url, options, { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: ADD_TIMEOUT_MS });
  const workers = connect(url, options, { maxRetriesPerRequest: null });
  const stack = new DisposableStack();
  stack.defer(() => producers.disconnect());
  stack.defer(() => workers.disconnect());
  const ping = new Command('PING');
  ping.setTimeout(FIRST_ANSWER_MS);
  try {
    await workers.sendCommand(ping);
  } catch (error) {
    stack.dispose();
    throw error;
  }
  const refused = new Set<string>();
  const isShared = url.protocol !== 'unix:';
  const queue: OpenBackend = (queue) => new BullmqBackend({ ...queue, producers, workers, lockMs, watchdogMs, refused, isShared });
  const isReachable = () => producers.status === 'ready' && refused.size === 0;
  return { isShared, isReachable, queue, [Symbol.asyncDispose]: async () => stack.dispose() };
}

/** Connects, and again whenever the connection is lost. */
export function connect(url: URL, { redisCa: ca, log }: RedisOptions, options: ClientOptions): Redis {
  const { hostname, protocol, pathname, search, href } = url;
  const tls = { secureContext: tlsContext({ ca }), ...(isIP(hostname) === 0 && { servername: hostname }) };
  // ioredis takes a socket as a path with options.
  const client = new Redis(protocol === 'unix:' ? `${pathname}${search}` : href, {
    ...options,
    ...(protocol === 'rediss:' && { tls }),
    connectTimeout: 5_000,
    keepAlive: 10_000,
    // A server that is no primary any more keeps its connections; a new one may lead to its successor.
    reconnectOnError: (error) => error.message.includes('READONLY'),
    retryStrategy: (times) => backOffMs({ baseMs: 50, maxMs: 2_000, floor: 1 }, times),
  });
  // Without a listener ioredis prints to the console; every failed command rejects with its error anyway.
  client.on('error', (error: unknown) => log.debug({ reason: errorMessage(error) }, 'Redis connection failed'));
  return client;
}
