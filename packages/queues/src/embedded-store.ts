import { createPostgresBackend, FlowProducer, Queue, runMigrations, Worker } from 'bullmq';
import { QUEUE_OPTIONS, toCallbacks, toConsumer, toFlowProducer, toProducer, workerOptions } from './bullmq-queue.ts';
import type { Log, QueueStore } from './job-store.ts';
import { PglitePool } from './pglite-pool.ts';

/** A bulk add makes two temporary tables, some 5 ms: only worth it for many jobs. */
const BULK_FROM = 16;

/** Queues in this process: BullMQ's Postgres backend on PGlite, in memory, or in `dir` if given. Costs some 300 MB of memory. */
export async function openEmbeddedStore(dir: string | undefined, log: Log): Promise<QueueStore> {
  // 60 MB of WebAssembly that a hub with a Redis never needs.
  const { PGlite } = await import('@electric-sql/pglite');
  const db = await PGlite.create(dir === undefined ? {} : { dataDir: dir, relaxedDurability: true });
  const pool = new PglitePool(db);
  await db.exec('create schema if not exists bullmq; set search_path to bullmq');
  const client = await pool.connect();
  await runMigrations(client);
  client.release();
  const close = () => db.close();
  return {
    kind: 'embedded',
    description: `the store inside this process (${dir ?? 'in memory'})`,
    serverPid: () => undefined,
    flush: async () => {
      const { rows } = await pool.query<{ tables: string }>(
        "select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables where schemaname = 'bullmq' and tablename <> 'migration'",
      );
      await pool.query(`truncate ${rows[0]?.tables}`);
    },
    producer: (name) => toProducer(new Queue(name, { ...QUEUE_OPTIONS, connection: pool }, createPostgresBackend), log, BULK_FROM),
    consumer: (name, options) => {
      const { processor, completed } = toCallbacks(options);
      const settings = { ...workerOptions(options), connection: pool };
      return toConsumer(new Worker(name, processor, settings, createPostgresBackend).on('completed', completed), log);
    },
    flows: () => toFlowProducer(new FlowProducer({ prefix: QUEUE_OPTIONS.prefix, connection: pool }, createPostgresBackend), log),
    close,
    [Symbol.asyncDispose]: close,
  };
}
