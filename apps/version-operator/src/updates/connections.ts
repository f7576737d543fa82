import { createSecureContext, getCACertificates } from 'node:tls';
import { type Connections, openConnections, type ProxySettings } from '@flotilla/registry';

/** What servers outside the cluster are reached with. */
export interface Reach {
  readonly proxy?: ProxySettings | undefined;
  /** PEM of authorities that are trusted besides the system's. */
  readonly ca?: string | undefined;
}

const CONNECT_MS = 30_000;

/** Connections that follow the cluster's settings: other settings are others from the next request on. */
export class FollowingConnections implements AsyncDisposable {
  readonly #reach: () => Reach;
  #current: { readonly key: string; readonly connections: Connections } | undefined;

  constructor(reach: () => Reach) {
    this.#reach = reach;
  }

  /** Connections of the moment. */
  get current(): Connections {
    const { proxy = {}, ca } = this.#reach();
    const key = JSON.stringify([proxy.http, proxy.https, proxy.no, ca]);
    if (this.#current?.key === key) return this.#current.connections;
    const secureContext = createSecureContext(ca ? { ca: [...getCACertificates('default'), ca] } : {});
    const connections = openConnections({
      tls: { secureContext, rejectUnauthorized: true },
      proxy,
      connectMs: CONNECT_MS,
      tunnelMs: CONNECT_MS,
    });
    void this.#current?.connections.destroy();
    this.#current = { key, connections };
    return connections;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#current?.connections.destroy();
    this.#current = undefined;
  }
}
