import { setTimeout as delay } from 'node:timers/promises';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { ServerStartError } from '../../errors.ts';
import type { ApiServer } from './api-server.ts';
import { applyCrds } from './apply-crds.ts';
import { EtcdStore, type StoredEntry } from './etcd-store.ts';

/** Keys that kube-apiserver keeps for itself and writes at times of its own. */
const ITS_OWN = [
  '/registry/leases/kube-system/',
  '/registry/masterleases/',
  '/registry/flowschemas/',
  '/registry/prioritylevelconfigurations/',
  '/registry/apiregistration.k8s.io/',
  '/registry/configmaps/kube-system/',
  '/registry/services/specs/default/kubernetes',
  '/registry/services/endpoints/default/kubernetes',
  '/registry/endpointslices/default/kubernetes',
  '/registry/ipaddresses/',
  '/registry/servicecidrs/',
  '/registry/ranges/',
];
const ITS_NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
const SOON_MS = 120_000;
/** A definition that is not gone by then stays: its server is of no use. */
const GONE_MS = 45_000;
const LOOK_MS = 20;

type Named = { readonly metadata: { readonly name: string } };

/** An API server that can be made what it was before anybody wrote to it: what was written is taken out of its etcd, which it watches. */
export class PooledServer {
  readonly server: ApiServer;
  readonly #client: Client;
  readonly #store: EtcdStore;
  /** CRDs we have applied, as they were given, by name. */
  readonly #crds = new Map<string, string>();
  #kept = new Map<string, StoredEntry>();

  private constructor(server: ApiServer, client: Client) {
    this.server = server;
    this.#client = client;
    this.#store = new EtcdStore(server.etcdUrl);
  }

  /** Takes a server over that nobody has written to. */
  static async of(server: ApiServer): Promise<PooledServer> {
    const pooled = new PooledServer(server, await server.client());
    const missing = async () => {
      const namespaces = await Promise.all(ITS_NAMESPACES.map((name) => pooled.#client.get(Namespace, { name })));
      return namespaces.includes(undefined);
    };
    await whileTrue(missing, 'the namespaces of kube-apiserver are missing');
    await pooled.#keep();
    return pooled;
  }

  /** Number of CRDs that have to come or to go before exactly these are there. */
  distance(wanted: readonly Named[]): number {
    return this.#missing(wanted).length + this.#surplus(wanted).length;
  }

  /** Sees to it that exactly these CRDs are there. */
  async prepare(wanted: readonly Named[]): Promise<void> {
    const [missing, surplus] = [this.#missing(wanted), this.#surplus(wanted)];
    if (missing.length + surplus.length === 0) return;
    await Promise.all(surplus.map((name) => this.#remove(name)));
    await applyCrds(this.#client, missing);
    for (const crd of missing) this.#crds.set(crd.metadata.name, JSON.stringify(crd));
    await this.#keep();
  }

  /** Forgets what was written since `prepare`. */
  async reset(): Promise<void> {
    const now = await this.#store.read({ values: false });
    const remove = [...now.keys()].filter((key) => !this.#kept.has(key) && !isItsOwn(key));
    const changed = [...this.#kept].filter(([key, { revision }]) => now.get(key)?.revision !== revision);
    if (remove.length + changed.length === 0) return;
    const put = new Map(changed.map(([key, { value }]) => [key, value]));
    await this.#store.change(remove, put);
    if (put.size > 0) await this.#keep();
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** From now on this is what a reset comes back to. */
  async #keep(): Promise<void> {
    const all = await this.#store.read({ values: true });
    this.#kept = new Map([...all].filter(([key]) => !isItsOwn(key)));
  }

  #missing(wanted: readonly Named[]): Named[] {
    return wanted.filter((crd) => this.#crds.get(crd.metadata.name) !== JSON.stringify(crd));
  }

  /** Names of those that are there and not wanted so. */
  #surplus(wanted: readonly Named[]): string[] {
    const texts = new Set(wanted.map((crd) => JSON.stringify(crd)));
    return [...this.#crds].filter(([, text]) => !texts.has(text)).map(([name]) => name);
  }

  async #remove(name: string): Promise<void> {
    await this.#client.delete(CustomResourceDefinition, { name });
    await whileTrue(
      async () => (await this.#client.get(CustomResourceDefinition, { name })) !== undefined,
      `CRD ${name} is there`,
      GONE_MS,
    );
    this.#crds.delete(name);
  }
}

const isItsOwn = (key: string): boolean => ITS_OWN.some((prefix) => key.startsWith(prefix));

async function whileTrue(ask: () => Promise<boolean>, what: string, withinMs = SOON_MS): Promise<void> {
  const end = performance.now() + withinMs;
  while (await ask()) {
    if (performance.now() > end) throw new ServerStartError(`${what} still after ${withinMs / 1000} s`);
    await delay(LOOK_MS);
  }
}
