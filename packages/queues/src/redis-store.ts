import { errorMessage } from '@flotilla/api';
import { backOffMs } from '@flotilla/pace';
import { Redis, type RedisOptions } from 'ioredis';
import { BoundedConnector } from './bounded-connector.ts';
import { BullmqBackend } from './bullmq-backend.ts';
import { StoreUnavailableError } from './errors.ts';
import type { Log, QueueStore } from './queue-store.ts';
import { within } from './within.ts';

/** Time-out of a named server's first answer, in milliseconds. */
const FIRST_ANSWER_MS = 10_000;

/** Address and description of a Redis or Valkey. */
export interface RedisTarget {
  readonly kind: 'redis' | 'local-redis';
  readonly description: string;
  /** URL, or path of a unix socket. */
  readonly address: string;
  /** Certificate authorities for TLS, PEM; empty or undefined: the system's. */
  readonly ca?: string | undefined;
  readonly serverPid: () => number | undefined;
  /** Ends the server, if this process started it. */
  readonly stop: () => Promise<void>;
}

/** Delays until lost work is found. */
export interface StoreTimes {
  /** Milliseconds that a process keeps its runs after its death, twice at most; default 15 000. */
  readonly lockMs?: number;
  /** Milliseconds between checks for an emptied store; default 2 000. */
  readonly watchdogMs?: number;
}

/** Opens queues on a Redis or Valkey server. Throws StoreUnavailableError when it does not answer. */
export async function openRedisStore(target: RedisTarget, options: StoreTimes & { readonly log: Log }): Promise<QueueStore> {
  const { log, lockMs = 15_000, watchdogMs = 2_000 } = options;
  // Producers fail at once without the server; workers wait for it.
  const producers = connect(target, { maxRetriesPerRequest: 1, enableOfflineQueue: false }, log);
  const workers = connect(target, { maxRetriesPerRequest: null }, log);
  const disconnect = () => {
    producers.disconnect();
    workers.disconnect();
  };
  try {
    await within(FIRST_ANSWER_MS, workers.ping(), new Error(`no answer within ${FIRST_ANSWER_MS} ms`));
  } catch (cause) {
    disconnect();
    await target.stop();
    throw new StoreUnavailableError(
      `${target.description} does not answer; check that it runs and that this address and password are right`,
      { cause },
    );
  }
  /** Queues whose last keys were not taken. */
  const refused = new Set<string>();
  const onAdded = (queue: string, isTaken: boolean) => void (isTaken ? refused.delete(queue) : refused.add(queue));
  const close = async () => {
    disconnect();
    await target.stop();
  };
  return {
    kind: target.kind,
    description: target.description,
    serverPid: target.serverPid,
    isReachable: () => producers.status === 'ready' && refused.size === 0,
    flush: async () => void (await workers.flushall()),
    // Workers need a server with a URL.
    queue: (queue) => new BullmqBackend({ ...queue, producers, workers, lockMs, watchdogMs, onAdded, isShared: target.kind === 'redis' }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function connect({ address, ca }: RedisTarget, options: RedisOptions, log: Log): Redis {
  const all: RedisOptions = {
    ...options,
    ...(ca && { tls: { ca } }),
    Connector: BoundedConnector,
    connectTimeout: 5_000,
    keepAlive: 10_000,
    // A server that is no primary any more keeps its connections; a new one may lead to its successor.
    reconnectOnError: (error) => error.message.includes('READONLY'),
    retryStrategy: (times) => backOffMs({ baseMs: 50, maxMs: 2_000, floor: 1 }, times),
  };
  const client = address.startsWith('/') ? new Redis({ ...all, path: address }) : new Redis(address, all);
  // Without a listener ioredis prints to the console; every failed command rejects with its error anyway.
  client.on('error', (error: unknown) => log.debug({ reason: errorMessage(error) }, 'Redis connection failed'));
  return client;
}
