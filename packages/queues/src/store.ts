import { FlotillaError } from '@flotilla/api';
import type { OpenBackend } from '@flotilla/runtime';
import type { RedisOptions } from './redis.ts';

/** Store of work queues' keys. It holds work and never truth: emptying it may only cost time, and nothing trusts its content. Stop the reconcilers first. */
export interface QueueStore extends AsyncDisposable {
  readonly kind: 'redis' | 'in-process';
  /** Address, without secrets. */
  readonly description: string;
  /** Workers of other pods may run keys: the address has a host. */
  readonly isShared: boolean;
  /** False while the server takes no keys and they wait in this process. */
  readonly isReachable: () => boolean;
  /** Value for `queue` of `startReconciler`; undefined: its own memory. */
  readonly queue: OpenBackend | undefined;
}

/** Options of `openStore`. */
export interface StoreOptions extends RedisOptions {
  /** `redis://` or `rediss://` URL of a server that may be shared, or `unix://` and the path of its socket. Default: this process's memory. */
  readonly redisUrl?: string | undefined;
}

/** Needs no installation and allows no workers. */
const memory: QueueStore = {
  kind: 'in-process',
  description: "this process's own memory",
  isShared: false,
  isReachable: () => true,
  queue: undefined,
  [Symbol.asyncDispose]: async () => {},
};

/**
 * Opens the queue's store. A given URL is never replaced by another store.
 * @throws FlotillaError `FLOTILLA_QUEUE_STORE_UNAVAILABLE` when the server does not answer, or the URL is not one
 */
export async function openStore({ redisUrl, ...options }: StoreOptions): Promise<QueueStore> {
  if (!redisUrl) return memory;
  const url = URL.canParse(redisUrl) ? new URL(redisUrl) : undefined;
  if (!url || !/^(?:rediss?:\/\/.|unix:\/\/\/.)/.test(url.href)) {
    const forms = 'redis://[user:password@]host:port[/database], rediss:// for TLS, or unix:///path/of/its/socket[?db=database]';
    throw unavailable(`the Redis URL is not one: write ${forms}`);
  }
  // BullMQ is large, and only needed here.
  const { openRedis } = await import('./redis.ts');
  const description = `the Redis at ${url.protocol}//${url.host}${url.pathname}`;
  try {
    return { kind: 'redis', description, ...(await openRedis(url, options)) };
  } catch (cause) {
    throw unavailable(`${description} does not answer; check that it runs and that this address and password are right`, cause);
  }
}

const unavailable = (message: string, cause?: unknown) => new FlotillaError('FLOTILLA_QUEUE_STORE_UNAVAILABLE', message, { cause });
