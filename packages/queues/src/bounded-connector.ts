import { createConnection, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { FlotillaError } from '@flotilla/api';
import { tlsContext } from '@flotilla/http';
import { AbstractConnector } from 'ioredis';
import { z } from 'zod';
import { ReplyBound } from './reply-bound.ts';

/** Largest reply that is read: jobs carry only names, and lists of them are short. */
const MAX_REPLY_BYTES = 1024 * 1024;
const DISCONNECT_MS = 2_000;

/** Target of the connection, from the options that ioredis passes on. */
const Target = z.looseObject({
  path: z.string().nullish(),
  host: z.string().default('127.0.0.1'),
  port: z.coerce.number().default(6379),
  family: z.number().nullish(),
  // A rediss:// URL gives `true`.
  tls: z.union([z.boolean(), z.looseObject({ ca: z.string().optional() })]).nullish(),
});
type Target = z.output<typeof Target>;

/** A reply was larger than any requested one; its connection was ended before the reply was read. */
export class ReplyTooLargeError extends FlotillaError {
  constructor() {
    super('FLOTILLA_QUEUE_REPLY_TOO_LARGE', `the queue's store answered with more than ${MAX_REPLY_BYTES} bytes`);
  }
}

/**
 * Connects as ioredis does, and ends the connection when a reply exceeds 1 MiB. Any writer of the store decides the content of jobs, and a client
 * reads a reply whole before anybody sees it. Connections that BullMQ copies from one have the bound too.
 */
export class BoundedConnector extends AbstractConnector {
  readonly #target: Target;

  constructor(options: unknown) {
    super(DISCONNECT_MS);
    this.#target = Target.parse(options);
  }

  /** Never rejects before the next turn, so that a client that was disconnected meanwhile gets no connection. */
  async connect(): Promise<Socket> {
    this.connecting = true;
    await Promise.resolve();
    if (!this.connecting) throw new FlotillaError('FLOTILLA_QUEUE_CLOSED', 'Connection is closed.');
    const stream = open(this.#target);
    this.stream = stream;
    stream.once('error', (error) => {
      this.firstError = error;
    });
    const bound = new ReplyBound(MAX_REPLY_BYTES);
    stream.on('data', (chunk: Buffer) => {
      if (!bound.take(chunk)) stream.destroy(new ReplyTooLargeError());
    });
    return stream;
  }
}

function open({ path, host, port, family, tls }: Target): Socket {
  if (path) return createConnection({ path });
  if (!tls) return createConnection({ host, port, family: family ?? 0 });
  const { ca, ...rest } = tls === true ? {} : tls;
  return connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...rest, secureContext: tlsContext({ ca }) });
}
