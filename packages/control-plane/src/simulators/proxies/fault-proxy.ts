import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { portOf } from '../../processes/free-port.ts';
import { createRandom } from '../../random.ts';

/** Faults of a connection; none by default. */
export interface Faults {
  /** End a connection after this many bytes towards the client: a number, or a range of which each connection draws one. */
  readonly cutAfterBytes?: number | readonly [min: number, max: number];
  /** Number of connections that are cut before the rest goes through; default: all. */
  readonly cuts?: number;
  /** Reset a cut connection (what the client has not read yet is lost) instead of ending it; default false. */
  readonly reset?: boolean;
  /** Reset every new connection. */
  readonly refuse?: boolean;
  /** Pace of one connection towards the client. A slow pace also keeps buffers empty, so that counts are near what a killed client got. */
  readonly bytesPerSecond?: number;
  /** Milliseconds before a connection goes through to the target. */
  readonly delayMs?: number;
}

/** Options of a proxy with faults. */
export interface FaultProxyOptions {
  /** Address to listen on; default `127.0.0.1`. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Seed of the random numbers; default 1. */
  readonly seed?: number;
  readonly faults?: Faults;
}

/** A TCP proxy that counts, and breaks what it is told to. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Replaces the faults, for connections from now on. */
  setFaults(faults: Faults): void;
  /** Ends every open connection now. */
  cutNow(): void;
  /** Bytes handed to clients and to the target, connections made and connections cut so far. */
  counts(): { readonly toClient: number; readonly toTarget: number; readonly connections: number; readonly cut: number };
  stop(): Promise<void>;
}

/** Starts a proxy before `target` (`http://127.0.0.1:5000`, of which host and port count). */
export async function startFaultProxy(target: string, options: FaultProxyOptions = {}): Promise<FaultProxy> {
  const { hostname, port: targetPort, protocol } = new URL(target);
  const random = createRandom(options.seed ?? 1);
  const counts = { toClient: 0, toTarget: 0, connections: 0, cut: 0 };
  const open = new Set<Socket>();
  let faults = options.faults ?? {};
  const server = createServer({ noDelay: true }, (client) => {
    counts.connections += 1;
    if (faults.refuse) return void client.resetAndDestroy();
    const upstream = connect({ host: hostname, port: Number(targetPort), noDelay: true });
    for (const socket of [client, upstream]) track(socket, open);
    const limit = counts.cut < (faults.cuts ?? Number.POSITIVE_INFINITY) ? drawLimit(faults, random) : undefined;
    relay({ client, upstream, counts, limit, faults });
  });
  const host = options.host ?? '127.0.0.1';
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const port = portOf(server);
  const cutNow = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    cutNow();
    await closed;
  };
  return {
    url: `${protocol}//${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`,
    port,
    setFaults(next) {
      faults = next;
    },
    cutNow,
    counts: () => ({ ...counts }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function track(socket: Socket, open: Set<Socket>): void {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  // A broken connection is what this is for; its end reaches the other side through `close`.
  socket.on('error', () => undefined);
}

function drawLimit({ cutAfterBytes }: Faults, random: () => number): number | undefined {
  if (cutAfterBytes === undefined || typeof cutAfterBytes === 'number') return cutAfterBytes;
  const [min, max] = cutAfterBytes;
  return min + Math.floor(random() * (max - min + 1));
}

interface Relay {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly counts: { toClient: number; toTarget: number; cut: number };
  readonly limit: number | undefined;
  readonly faults: Faults;
}

function relay({ client, upstream, counts, limit, faults }: Relay): void {
  let sent = 0;
  upstream.on('data', (chunk: Buffer) => {
    const part = limit === undefined ? chunk : chunk.subarray(0, limit - sent);
    sent += part.length;
    counts.toClient += part.length;
    const isFull = !client.write(part);
    if (isFull || faults.bytesPerSecond) upstream.pause();
    if (faults.bytesPerSecond) setTimeout(() => upstream.resume(), (1_000 * part.length) / faults.bytesPerSecond);
    if (limit === undefined || sent < limit || client.writableEnded) return;
    counts.cut += 1;
    upstream.destroy();
    if (faults.reset) client.resetAndDestroy();
    else client.end();
  });
  client.on('drain', () => {
    if (!faults.bytesPerSecond) upstream.resume();
  });
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.end());
  client.on('end', () => upstream.end());
  client.pause();
  const timer = setTimeout(() => {
    client.on('data', (chunk: Buffer) => {
      counts.toTarget += chunk.length;
      if (!upstream.write(chunk)) client.pause();
    });
    upstream.on('drain', () => client.resume());
    client.resume();
  }, faults.delayMs ?? 0);
  client.once('close', () => clearTimeout(timer));
}
