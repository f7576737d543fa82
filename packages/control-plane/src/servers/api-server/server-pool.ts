import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { errorMessage } from '@flotilla/api';
import { z } from 'zod';
import { startOwnApiServer } from './api-server.ts';
import { PooledServer } from './pooled-server.ts';

/** API servers that a run of tests hands from file to file, each as if it had just been started. */
export interface ServerPool extends AsyncDisposable {
  /** Address for `useServerPool`: `http://127.0.0.1:PORT`. */
  readonly address: string;
}

/** Request for a server: CRDs that are to be there. */
const Order = z.object({ crds: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })) });
/** A lent server, or the reason for none. Closing the connection gives it back, as does any end of the process that borrowed it. */
export const Loan = z.union([
  z.object({ url: z.string(), kubeconfig: z.string(), etcdUrl: z.string(), startedInMs: z.number() }),
  z.object({ error: z.string() }),
]);
export type Loan = z.output<typeof Loan>;

type Crds = readonly { readonly metadata: { readonly name: string } }[];

/** Starts a pool. @param mostIdle servers that are kept while nobody has them */
export async function startServerPool(mostIdle = 3): Promise<ServerPool> {
  const pool = new Pool(mostIdle);
  const http = createServer((request, response) => void pool.serve(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    address: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      http.close();
      http.closeAllConnections();
      await pool.stop();
    },
  };
}

class Pool {
  readonly #mostIdle: number;
  readonly #idle: PooledServer[] = [];
  readonly #all = new Set<PooledServer>();
  readonly #returning = new Set<Promise<void>>();
  #stopped = false;

  constructor(mostIdle: number) {
    this.#mostIdle = mostIdle;
  }

  /** Lends a server for as long as the connection lasts. Never throws: a failure is the answer. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = once(response, 'close');
    try {
      const { crds } = Order.parse(await json(request));
      const server = await this.#take(crds);
      const { url, kubeconfig, etcdUrl, startedInMs } = server.server;
      response.write(`${JSON.stringify({ url, kubeconfig, etcdUrl, startedInMs } satisfies Loan)}\n`);
      await closed;
      const returned = this.#giveBack(server).finally(() => this.#returning.delete(returned));
      this.#returning.add(returned);
    } catch (error) {
      response.end(`${JSON.stringify({ error: errorMessage(error) } satisfies Loan)}\n`);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#returning);
    await Promise.all([...this.#all].map((server) => server.stop()));
  }

  /** The one that needs the least to have these CRDs, or a new one. */
  async #take(crds: Crds): Promise<PooledServer> {
    // A server that is coming back is cheaper than a new one.
    if (this.#idle.length === 0 && this.#returning.size > 0) await Promise.race(this.#returning);
    const [best] = this.#idle.toSorted((a, b) => a.distance(crds) - b.distance(crds));
    if (best) this.#idle.splice(this.#idle.indexOf(best), 1);
    // One whose definitions of before do not go, which is seen on busy machines, is replaced.
    if (best) return this.#prepare(best, crds).catch(() => this.#takeNew(crds));
    return this.#takeNew(crds);
  }

  async #takeNew(crds: Crds): Promise<PooledServer> {
    return this.#prepare(await PooledServer.of(await startOwnApiServer()), crds);
  }

  async #prepare(server: PooledServer, crds: Crds): Promise<PooledServer> {
    this.#all.add(server);
    try {
      await server.prepare(crds);
      return server;
    } catch (error) {
      await this.#drop(server);
      throw error;
    }
  }

  /** A server that does not become what it was is of no use to anybody. */
  async #giveBack(server: PooledServer): Promise<void> {
    try {
      await server.reset();
      if (!this.#stopped && this.#idle.length < this.#mostIdle) return void this.#idle.push(server);
    } catch {
      // It ends.
    }
    await this.#drop(server);
  }

  async #drop(server: PooledServer): Promise<void> {
    this.#all.delete(server);
    await server.stop();
  }
}
