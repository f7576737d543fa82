import { errorMessage } from '@flotilla/api';
import { StoreUnavailableError } from './errors.ts';
import { openInProcessStore } from './in-process-store.ts';
import type { Log, QueueStore } from './line.ts';
import { findRedisProgram, startRedisServer } from './redis-server.ts';

/** Where the line is kept. */
export interface StoreOptions {
  /** `redis://` or `rediss://` URL of a server that may be shared. */
  readonly redisUrl?: string;
  /** Certificate authorities for a `rediss://` URL, PEM; default: the system's. */
  readonly redisCa?: string;
  /** `auto` (default): the URL, else a server on PATH, else this process. `redis`: never this process. `in-process`: nothing else. */
  readonly preference?: 'auto' | 'redis' | 'in-process';
  readonly log: Log;
}

/**
 * Opens the queue's store and logs which it is. A URL that was given is never replaced by another store.
 * @throws StoreUnavailableError when the one chosen cannot be opened.
 */
export async function openStore(options: StoreOptions): Promise<QueueStore> {
  const store = await chooseStore(options);
  options.log.info({ store: store.kind, description: store.description }, 'Opened the queue store');
  return store;
}

async function chooseStore({ redisUrl, redisCa, preference = 'auto', log }: StoreOptions): Promise<QueueStore> {
  if (preference === 'in-process') return openInProcessStore();
  if (redisUrl) return openUrl(redisUrl, redisCa, log);
  const program = await findRedisProgram();
  const local = program && (await openLocal(program, preference, log));
  if (local) return local;
  if (preference === 'redis') {
    throw new StoreUnavailableError('no Redis URL is set and neither redis-server nor valkey-server is on PATH; set one or install one');
  }
  return openInProcessStore();
}

/** Loaded only when used: BullMQ is large. */
const openRedisStore = async (...args: Parameters<typeof import('./redis-store.ts').openRedisStore>): Promise<QueueStore> =>
  (await import('./redis-store.ts')).openRedisStore(...args);

function openUrl(redisUrl: string, ca: string | undefined, log: Log): Promise<QueueStore> {
  if (!URL.canParse(redisUrl) || !/^rediss?:$/.test(new URL(redisUrl).protocol)) {
    throw new StoreUnavailableError('the Redis URL is not one: write redis://[user:password@]host:port[/database], or rediss:// for TLS');
  }
  const { protocol, host, pathname } = new URL(redisUrl);
  const description = `the Redis at ${protocol}//${host}${pathname}`;
  return openRedisStore({ kind: 'redis', description, address: redisUrl, ca, serverPid: () => undefined, stop: async () => {} }, log);
}

/** Undefined when the server on PATH cannot be started and another store may be used instead. */
async function openLocal(program: string, preference: 'auto' | 'redis', log: Log): Promise<QueueStore | undefined> {
  try {
    const { socket, pid, stop } = await startRedisServer(program, log);
    const description = `a ${program} of this process's own`;
    return await openRedisStore({ kind: 'local-redis', description, address: socket, serverPid: pid, stop }, log);
  } catch (cause) {
    if (preference === 'redis') throw new StoreUnavailableError(`${program} is on PATH but could not be started`, { cause });
    log.warn({ program, reason: errorMessage(cause) }, "Starting a queue server failed, using this process's own memory");
    return undefined;
  }
}
