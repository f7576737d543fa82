import { errorMessage } from '@flotilla/api';
import { StoreUnavailableError } from './errors.ts';
import type { Log, QueueStore } from './queue-store.ts';
import { findRedisProgram, startRedisServer } from './redis-server.ts';
import type { StoreTimes } from './redis-store.ts';

/** Options of `openStore`. */
export interface StoreOptions extends StoreTimes {
  /** `redis://` or `rediss://` URL of a server that may be shared. */
  readonly redisUrl?: string;
  /** Certificate authorities for a `rediss://` URL, PEM; default: the system's. */
  readonly redisCa?: string;
  /** `auto` (default): the URL, else a server on PATH, else this process. `redis`: never this process. `in-process`: nothing else. */
  readonly preference?: 'auto' | 'redis' | 'in-process';
  readonly log: Log;
}

/**
 * Opens the queue's store and logs the choice. A given URL is never replaced by another store.
 * @throws StoreUnavailableError when the chosen store cannot be opened
 */
export async function openStore(options: StoreOptions): Promise<QueueStore> {
  const store = await chooseStore(options);
  options.log.info({ store: store.kind, description: store.description }, 'Opened the queue store');
  return store;
}

async function chooseStore(options: StoreOptions): Promise<QueueStore> {
  const { redisUrl, preference = 'auto' } = options;
  if (preference === 'in-process') return openInProcessStore();
  if (redisUrl) return openUrl(redisUrl, options);
  const program = await findRedisProgram();
  const local = program && (await openLocal(program, options));
  if (local) return local;
  if (preference === 'redis') {
    throw new StoreUnavailableError('no Redis URL is set and neither redis-server nor valkey-server is on PATH; set one or install one');
  }
  return openInProcessStore();
}

/** Opens the store of this process's memory, which needs no installation and allows no workers. */
function openInProcessStore(): QueueStore {
  const nothing = async () => {};
  return {
    kind: 'in-process',
    description: "this process's own memory",
    serverPid: () => undefined,
    isReachable: () => true,
    flush: nothing,
    queue: undefined,
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  };
}

/** Imports on demand, because BullMQ is large. */
const openRedisStore = async (...args: Parameters<typeof import('./redis-store.ts').openRedisStore>): Promise<QueueStore> =>
  (await import('./redis-store.ts')).openRedisStore(...args);

function openUrl(redisUrl: string, { redisCa: ca, ...options }: StoreOptions): Promise<QueueStore> {
  if (!URL.canParse(redisUrl) || !/^rediss?:$/.test(new URL(redisUrl).protocol)) {
    throw new StoreUnavailableError('the Redis URL is not one: write redis://[user:password@]host:port[/database], or rediss:// for TLS');
  }
  const { protocol, host, pathname } = new URL(redisUrl);
  const description = `the Redis at ${protocol}//${host}${pathname}`;
  return openRedisStore({ kind: 'redis', description, address: redisUrl, ca, serverPid: () => undefined, stop: async () => {} }, options);
}

/** Opens a server from PATH; undefined when it fails and another store may be used instead. */
async function openLocal(program: string, options: StoreOptions): Promise<QueueStore | undefined> {
  const { preference, log } = options;
  try {
    const { socket, pid, stop } = await startRedisServer(program, log);
    const description = `a ${program} of this process's own`;
    return await openRedisStore({ kind: 'local-redis', description, address: socket, serverPid: pid, stop }, options);
  } catch (cause) {
    if (preference === 'redis') throw new StoreUnavailableError(`${program} is on PATH but could not be started`, { cause });
    log.warn({ program, reason: errorMessage(cause) }, "Starting a queue server failed, using this process's own memory");
    return undefined;
  }
}
