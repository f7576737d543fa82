import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseRate } from '@flotilla/control-plane/servers';

/** Bytes that pass at once; small, so that connections share the rate evenly. */
const SLICE = 32 * 1024;

/** A link where there are no network namespaces: relays before a few addresses, with one rate for all and a way to cut them. */
export class PacedLink implements AsyncDisposable {
  readonly #relays = new Map<string, Server>();
  readonly #sockets = new Set<Socket>();
  #bytesPerMs = Number.POSITIVE_INFINITY;
  #isCut = false;
  #nextAt = 0;

  /** Starts a relay on a free port before each `host:port`. */
  async start(addresses: readonly string[]): Promise<void> {
    for (const address of addresses) {
      const [host = '', port = ''] = address.split(':');
      const server = createServer({ noDelay: true }, (client) => this.#accept(client, host, Number(port)));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      this.#relays.set(address, server);
    }
  }

  /** Replaces every address behind the link by its relay's, as a node's routes do for whole packets. */
  translate(text: string): string {
    let translated = text;
    for (const [address, server] of this.#relays) {
      const { port } = server.address() as AddressInfo;
      translated = translated.replaceAll(address, `127.0.0.1:${port}`);
    }
    return translated;
  }

  /** Limits what passes towards the spoke, over all connections together; undefined takes the limit off. */
  setRate(rate: string | undefined): void {
    this.#bytesPerMs = rate === undefined ? Number.POSITIVE_INFINITY : parseRate(rate) / 8_000;
  }

  /** Ends every connection and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await Promise.all([...this.#relays.values()].map((server) => new Promise((resolve) => server.close(resolve))));
  }

  #accept(client: Socket, host: string, port: number): void {
    if (this.#isCut) return void client.resetAndDestroy();
    const upstream = connect({ host, port, noDelay: true });
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      // A broken connection reaches the other side through `close`.
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    client.pipe(upstream);
    void this.#forward(upstream, client).catch(() => client.destroy());
  }

  async #forward(from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from) {
      if (!Buffer.isBuffer(chunk)) continue;
      for (let at = 0; at < chunk.length; at += SLICE) {
        const slice = chunk.subarray(at, at + SLICE);
        await this.#pace(slice.length);
        if (to.destroyed) return;
        if (!to.write(slice)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
      }
    }
    to.end();
  }

  async #pace(bytes: number): Promise<void> {
    const now = performance.now();
    const at = Math.max(this.#nextAt, now);
    this.#nextAt = at + bytes / this.#bytesPerMs;
    // Timers are no finer; what is owed is kept in nextAt.
    if (at - now >= 1) await delay(at - now);
  }
}
