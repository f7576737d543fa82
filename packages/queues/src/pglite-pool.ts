import { EventEmitter } from 'node:events';
import type { PGlite, Results } from '@electric-sql/pglite';
import type { PgNotification, PgPool, PgPoolClient, PgQueryResult } from 'bullmq';

/** int8 and numeric stay strings, as node-postgres has them and BullMQ expects them. */
const PARSERS = { 20: (value: string) => value, 1700: (value: string) => value };

/** One at a time: `acquire` resolves to the release of whoever asked, in order. */
class Mutex {
  #tail: Promise<void> = Promise.resolve();

  async acquire(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#tail;
    this.#tail = promise;
    await before;
    return resolve;
  }
}

/**
 * A `pg.Pool` look-alike over the one session of an in-process PGlite. Transactions of different clients follow each other;
 * notifications reach every client that listens (over a socket they would reach only the one that issued them).
 */
export class PglitePool extends EventEmitter implements PgPool {
  readonly db: PGlite;
  readonly mutex = new Mutex();
  readonly #clients = new Set<PgliteClient>();
  /** Read by BullMQ to tell a pool from its configuration. */
  readonly options = { keepAlive: true };

  constructor(db: PGlite) {
    super();
    this.setMaxListeners(0);
    this.db = db;
    db.onNotification((channel, payload) => {
      for (const client of this.#clients) client.deliver({ channel, payload, processId: 1 });
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: the signature of pg, whose rows have any shape
  async query<R = any>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    const release = await this.mutex.acquire();
    try {
      return await this.run<R>(text, params);
    } finally {
      release();
    }
  }

  async connect(): Promise<PgPoolClient> {
    const client = new PgliteClient(this, () => this.#clients.delete(client));
    this.#clients.add(client);
    return client;
  }

  /** Clients come and go with the database; closing that is its owner's business. */
  async end(): Promise<void> {}

  /** Runs SQL in the session. Callers hold the mutex. */
  async run<R>(text: string, params: readonly unknown[] = []): Promise<PgQueryResult<R>> {
    // Queries resolve as microtasks: without a turn of the event loop in between, timers and sockets starve.
    await new Promise((resolve) => setImmediate(resolve));
    const result =
      params.length === 0
        ? (await this.db.exec(text, { parsers: PARSERS })).at(-1)
        : await this.db.query(
            text,
            params.map((value) => value ?? null),
            { parsers: PARSERS },
          );
    return toPg<R>(result);
  }
}

// PGlite types rows as open records; pg's contract lets the caller say what they are.
const toPg = <R>(result: Results<unknown> | undefined): PgQueryResult<R> => ({
  rows: (result?.rows ?? []) as R[],
  rowCount: result?.affectedRows || (result?.rows.length ?? 0),
});

/** A checked-out client: holds the session from BEGIN to COMMIT or ROLLBACK, and listens to channels of its own. */
class PgliteClient extends EventEmitter implements PgPoolClient {
  readonly #pool: PglitePool;
  readonly #drop: () => void;
  readonly #channels = new Set<string>();
  #endTransaction: (() => void) | undefined;

  constructor(pool: PglitePool, drop: () => void) {
    super();
    this.setMaxListeners(0);
    this.#pool = pool;
    this.#drop = drop;
  }

  /** Hands a notification to the listeners, if this client listens to its channel. */
  deliver(notification: PgNotification): void {
    if (this.#channels.has(notification.channel)) queueMicrotask(() => this.emit('notification', notification));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the signature of pg, whose rows have any shape
  async query<R = any>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    // BullMQ's SQL starts with comments; what the statement is shows only behind them.
    const statement = text.replace(/^(\s*--[^\n]*\n)+/, '').trim();
    if (/^UNLISTEN\b/i.test(statement)) return this.#unlisten(statement);
    const channel = /^LISTEN\s+"?(\w+)"?/i.exec(statement)?.[1];
    if (channel) this.#channels.add(channel);
    return this.#endTransaction ? this.#inTransaction<R>(statement, params) : this.#alone<R>(statement, params);
  }

  release(): void {
    const end = this.#endTransaction;
    this.#endTransaction = undefined;
    if (end) void this.#pool.run('ROLLBACK').finally(end);
    this.#drop();
  }

  /** The session goes on listening: other clients may need the channel. */
  #unlisten<R>(statement: string): PgQueryResult<R> {
    const channel = /^UNLISTEN\s+"?([\w*]+)"?/i.exec(statement)?.[1];
    if (channel === undefined || channel === '*') this.#channels.clear();
    else this.#channels.delete(channel);
    return { rows: [], rowCount: 0 };
  }

  async #alone<R>(statement: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    const release = await this.#pool.mutex.acquire();
    let keep = false;
    try {
      const result = await this.#pool.run<R>(statement, params);
      keep = /^(BEGIN|START TRANSACTION)\b/i.test(statement);
      if (keep) this.#endTransaction = release;
      return result;
    } finally {
      if (!keep) release();
    }
  }

  async #inTransaction<R>(statement: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    try {
      return await this.#pool.run<R>(statement, params);
    } finally {
      if (/^(COMMIT|ROLLBACK|END)\b/i.test(statement) && !/^ROLLBACK TO\b/i.test(statement)) {
        const end = this.#endTransaction;
        this.#endTransaction = undefined;
        end?.();
      }
    }
  }
}
