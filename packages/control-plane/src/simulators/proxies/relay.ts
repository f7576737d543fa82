import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { portOf } from '../../processes/free-port.ts';
import { createRandom } from '../../random.ts';
import { LINK_SLICE, LinkPace } from './link-pace.ts';

/** Faults and pace of connections; none by default. */
export interface RelayFaults {
  /** End a connection after this many bytes towards the client: a number, or a range of which each connection draws one. */
  readonly cutAfterBytes?: number | readonly [min: number, max: number];
  /** Number of connections that are cut before the rest goes through; default: all. */
  readonly cuts?: number;
  /** Reset a cut connection (what the client has not read yet is lost) instead of ending it; default false. */
  readonly reset?: boolean;
  /** Reset every new connection. */
  readonly refuse?: boolean;
  /** New connections carry nothing, and nobody is told: not before they are made anew. */
  readonly stall?: boolean;
  /** Pace towards clients over all connections. A slow pace also keeps buffers empty, so that counts are near what a killed client got. */
  readonly bytesPerSecond?: number;
  /** Bytes towards clients after which every connection falls silent. */
  readonly mostBytes?: number;
  /** Milliseconds before a connection goes through to the target. */
  readonly delayMs?: number;
}

/** Options of a relay. */
export interface RelayOptions {
  /** Address to listen on; default `127.0.0.1`. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Seed of the random numbers; default 1. */
  readonly seed?: number;
  readonly faults?: RelayFaults;
}

/** A TCP relay that counts, and slows down and breaks what it is told to. */
export interface Relay extends AsyncDisposable {
  /** Host and port, for a registry's name. */
  readonly at: string;
  readonly url: string;
  readonly port: number;
  /** Sends connections from now on elsewhere. */
  setTarget(target: string): void;
  /** Replaces the faults, for connections from now on. */
  setFaults(faults: RelayFaults): void;
  /** Resets every open connection now, in the middle of whatever it carries; returns how many there were. */
  cutNow(): number;
  /** From now on the connections there are carry nothing, and nobody is told. Returns how many fell silent. */
  silence(): number;
  /** Bytes handed to clients and to the target, connections made and connections cut so far. */
  counts(): { readonly toClient: number; readonly toTarget: number; readonly connections: number; readonly cut: number };
  stop(): Promise<void>;
}

interface Counts {
  toClient: number;
  toTarget: number;
  connections: number;
  cut: number;
}

/** Starts a relay before `target` (`http://127.0.0.1:5000`, of which host and port count). */
export async function startRelay(target: string, options: RelayOptions = {}): Promise<Relay> {
  const random = createRandom(options.seed ?? 1);
  const counts: Counts = { toClient: 0, toTarget: 0, connections: 0, cut: 0 };
  const open = new Set<Connection>();
  const pace = new LinkPace();
  let { hostname, port: targetPort, protocol } = new URL(target);
  let faults = options.faults ?? {};
  const server = createServer({ noDelay: true }, (client) => {
    counts.connections += 1;
    if (faults.refuse) return void client.resetAndDestroy();
    const limit = counts.cut < (faults.cuts ?? Number.POSITIVE_INFINITY) ? drawLimit(faults, random) : undefined;
    const connection = new Connection(client, { counts, limit, faults, pace });
    open.add(connection);
    client.once('close', () => open.delete(connection));
    if (!faults.stall) connection.open(hostname, Number(targetPort));
  });
  const host = options.host ?? '127.0.0.1';
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const port = portOf(server);
  const at = `${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  const each = (act: (connection: Connection) => void): number => {
    const all = [...open];
    for (const connection of all) act(connection);
    return all.length;
  };
  const cutNow = () => each((connection) => connection.cut());
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    cutNow();
    await closed;
  };
  return {
    at,
    url: `${protocol}//${at}`,
    port,
    setTarget(next) {
      ({ hostname, port: targetPort, protocol } = new URL(next));
    },
    setFaults(next) {
      faults = next;
    },
    cutNow,
    silence: () => each((connection) => connection.silence()),
    counts: () => ({ ...counts }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function drawLimit({ cutAfterBytes }: RelayFaults, random: () => number): number | undefined {
  if (cutAfterBytes === undefined || typeof cutAfterBytes === 'number') return cutAfterBytes;
  const [min, max] = cutAfterBytes;
  return min + Math.floor(random() * (max - min + 1));
}

interface ConnectionOptions {
  readonly counts: Counts;
  readonly limit: number | undefined;
  readonly faults: RelayFaults;
  readonly pace: LinkPace;
}

/** One connection of a client through the relay. */
class Connection {
  readonly #client: Socket;
  readonly #options: ConnectionOptions;
  readonly #closed = new AbortController();
  #upstream: Socket | undefined;
  #isSilent = false;

  constructor(client: Socket, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
    // A broken connection is what this is for; its end reaches the other side through `close`.
    client
      .on('error', () => undefined)
      .on('close', () => {
        this.#closed.abort();
        this.#upstream?.destroy();
      });
  }

  open(host: string, port: number): void {
    const { delayMs } = this.#options.faults;
    if (delayMs === undefined) return this.#connect(host, port);
    const timer = setTimeout(() => this.#connect(host, port), delayMs);
    this.#client.once('close', () => clearTimeout(timer));
  }

  cut(): void {
    this.#upstream?.resetAndDestroy();
    this.#client.resetAndDestroy();
  }

  silence(): void {
    this.#isSilent = true;
    this.#client.unpipe().pause();
  }

  #connect(host: string, port: number): void {
    const [client, { counts }] = [this.#client, this.#options];
    if (this.#isSilent) return;
    const upstream = connect({ host, port, noDelay: true }).on('error', () => undefined);
    this.#upstream = upstream;
    client.on('data', (chunk: Buffer) => {
      counts.toTarget += chunk.length;
    });
    client.pipe(upstream);
    void this.#pass(upstream).catch(() => client.destroy());
  }

  async #pass(upstream: Socket): Promise<void> {
    const [client, { counts, limit = Number.POSITIVE_INFINITY, faults, pace }] = [this.#client, this.#options];
    const slice = faults.bytesPerSecond === undefined ? Number.POSITIVE_INFINITY : LINK_SLICE;
    let sent = 0;
    for await (const chunk of upstream as AsyncIterable<Buffer>)
      for (let at = 0; at < chunk.length; at += slice) {
        const part = chunk.subarray(at, Math.min(at + slice, at + limit - sent));
        if (faults.bytesPerSecond !== undefined) await pace.pass(part.length, faults.bytesPerSecond);
        if (counts.toClient >= (faults.mostBytes ?? Number.POSITIVE_INFINITY)) this.silence();
        if (this.#isSilent && !client.destroyed) await once(client, 'close');
        if (client.destroyed) return;
        sent += part.length;
        counts.toClient += part.length;
        if (!client.write(part)) await once(client, 'drain', { signal: this.#closed.signal });
        if (sent >= limit) return this.#end();
      }
    client.end();
  }

  /** Ends the connection at its limit. */
  #end(): void {
    this.#options.counts.cut += 1;
    this.#upstream?.destroy();
    if (this.#options.faults.reset) this.#client.resetAndDestroy();
    else this.#client.end();
  }
}
