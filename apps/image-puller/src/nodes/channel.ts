/** The channel between the pullers of one spoke: HTTP over TLS, with a key that two processes have made for each other and no certificate. */
import { constants, createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

// biome-ignore lint/style/noRestrictedImports: nodes know one another by a pre-shared key alone, which undici does not take
import { Agent, createServer, type RequestOptions, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { FlotillaError } from '@flotilla/api';
import { readBounded } from '@flotilla/http';
import type { z } from 'zod';

/** TLS 1.2, because Node knows no pre-shared keys in TLS 1.3. Either side proves that it has the key. */
const TLS = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
/** Largest message of the channel; blobs are streamed. */
const MAX_MESSAGE_BYTES = 256 * 1024;
const MAX_IDENTITY_CHARS = 128;
const HANDSHAKE_MS = 10_000;
/** Longer than a turn of the cap may take. */
const IDLE_MS = 330_000;
/** Connections to one process: each node has some dozens at most. */
const MAX_CONNECTIONS = 8_192;
const SOCKETS_PER_PEER = 12;

/** The other side does not answer, or refuses. */
export class ChannelError extends FlotillaError {
  /** Status of a refusal; undefined without an answer. */
  readonly status: number | undefined;
  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super('FLOTILLA_PULLER_CHANNEL', message, { cause: options.cause });
    this.status = options.status;
  }
}

/** A place where a process of the channel listens. */
export interface ChannelPlace {
  readonly address: string;
  readonly port: number;
}

/** A request that came over the channel. */
export interface ChannelRequest {
  readonly method: string;
  readonly path: string;
  readonly range: string | undefined;
  /** Name that the caller gave with its key. */
  readonly identity: string;
  /** Address of the caller. */
  readonly address: string;
  /** Reads the body as JSON, bounded. */
  json(): Promise<unknown>;
}

/** Options of a server. */
interface ServeOptions extends ChannelPlace {
  /** Key of a caller by its name; undefined refuses it. */
  readonly keyOf: (identity: string) => Buffer | undefined;
  readonly handle: (request: ChannelRequest, response: ServerResponse) => Promise<void>;
}

/** Serves the channel until it is disposed of. */
export async function serveChannel(options: ServeOptions): Promise<AsyncDisposable & { readonly port: number }> {
  const identities = new WeakMap<object, string>();
  const pskCallback = (socket: TLSSocket, identity: string): Buffer | null => {
    if (identity.length > MAX_IDENTITY_CHARS) return null;
    identities.set(socket, identity);
    return options.keyOf(identity) ?? null;
  };
  // A resumed session would have no name: the key is asked for by full handshakes alone.
  const secureOptions = constants.SSL_OP_NO_TICKET;
  const server = createServer({ ...TLS, pskCallback, secureOptions, handshakeTimeout: HANDSHAKE_MS }, (incoming, response) => {
    const identity = identities.get(incoming.socket) ?? '';
    options.handle(toRequest(incoming, identity), response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(IDLE_MS);
  // A stranger's handshake fails here and is nobody's concern.
  server.on('tlsClientError', (_, socket) => socket.destroy());
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(options.port, options.address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function toRequest(incoming: IncomingMessage, identity: string): ChannelRequest {
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    range: incoming.headers.range,
    identity,
    address: (incoming.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, ''),
    async json() {
      return JSON.parse((await readBounded(incoming, MAX_MESSAGE_BYTES)).toString('utf8') || 'null');
    },
  };
}

/** One call over the channel. */
interface ChannelCall {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly range?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A caller's name and key. */
export interface ChannelCredential {
  readonly identity: string;
  readonly psk: Buffer;
  /** Address to call from, by which the other side knows where this one is; default: any. */
  readonly from?: string | undefined;
}

/** Calls one process over the channel. */
export class ChannelClient implements Disposable {
  readonly place: ChannelPlace;
  readonly #key: ChannelCredential;
  readonly #agent: Agent;

  constructor(place: ChannelPlace, key: ChannelCredential, sockets = SOCKETS_PER_PEER) {
    this.place = place;
    this.#key = key;
    // A check of a request's own would give each request a connection of its own; the key names the other side, there is no certificate.
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets, checkServerIdentity: () => undefined });
  }

  /**
   * Opens an answer whose body is read as it comes.
   * @throws ChannelError without an answer
   */
  async open({ method, path, body, range, timeoutMs, signal }: ChannelCall): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const { address, port } = this.place;
    const deadline = AbortSignal.timeout(timeoutMs);
    const options: RequestOptions & Pick<ConnectionOptions, 'pskCallback'> = {
      ...TLS,
      host: address,
      port,
      method,
      path,
      agent: this.#agent,
      headers: { ...(range !== undefined && { range }), ...(text && { 'content-length': text.length }) },
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      ...(this.#key.from !== undefined && { localAddress: this.#key.from }),
      pskCallback: () => this.#key,
    };
    const call = request(options);
    call.end(text);
    try {
      const [answer] = (await once(call, 'response')) as [IncomingMessage];
      return answer;
    } catch (error) {
      signal?.throwIfAborted();
      throw new ChannelError(`no answer from ${address}:${port}`, { cause: error });
    }
  }

  /**
   * Sends a message and parses the answer.
   * @throws ChannelError
   */
  async post<T>(path: string, body: unknown, schema: z.ZodType<T>, options: { timeoutMs: number; signal?: AbortSignal }): Promise<T> {
    const answer = await this.open({ method: 'POST', path, body, ...options });
    const status = answer.statusCode ?? 0;
    try {
      const bytes = await readBounded(answer, MAX_MESSAGE_BYTES);
      if (status !== 200) throw new ChannelError(`${path} was refused with ${status}`, { status });
      return schema.parse(JSON.parse(bytes.toString('utf8')));
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof ChannelError) throw error;
      throw new ChannelError(`${path} was answered in an unknown way`, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Key pair of one process for the channel between pullers. The public half may stand anywhere. */
interface ChannelKey {
  /** Public half, base64url. */
  readonly publicKey: string;
  /** Derives the secret with the other side's public half; undefined for a malformed one. */
  secretWith(otherPublicKey: string): Buffer | undefined;
}

const SECRET_BYTES = 32;

/** Makes a key pair (X25519) that ends with the process. */
export function createChannelKey(): ChannelKey {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  return {
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    secretWith(other) {
      try {
        const key = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: other }, format: 'jwk' });
        return Buffer.from(hkdfSync('sha256', diffieHellman({ privateKey, publicKey: key }), '', 'flotilla pre-cache', SECRET_BYTES));
      } catch {
        return undefined;
      }
    },
  };
}
