/** API server of a hub in memory, for the tests of this folder: each process's watch events can be held back. */

import type { KubeObject, Ref, Resource } from '@flotilla/api';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { clusterSetCrds, ManagedCluster, ManifestWork, transportCrds } from '@flotilla/api/ocm';
import { ranCrds } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { beforeWrites, clientWith, holdWatches, MemoryServer, type SentWrite } from '@flotilla/control-plane/memory';
import { ManualClock } from '@flotilla/pace/testing';
import { type ApiError, type Client, createLogger, createMetrics } from '@flotilla/runtime';
import { createWorkerCaches, type SpokeJobCaches } from '../src/caches.ts';

/** A process with its view of the hub. */
export interface HubProcess {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  /** Holds back further events of these kinds (plurals), and releases all others. */
  hold(...kinds: readonly string[]): void;
}

/** Hub in memory. Stop it, because its watches wait for ever otherwise. */
export class MemoryHub {
  readonly #server: MemoryServer;
  /** All writes by clients, as `verb plural name`. */
  readonly writes: string[] = [];
  readonly #stop = new AbortController();
  /** Error with which the server refuses a write. */
  refuse: (verb: SentWrite['verb'], kind: Resource, ref: Ref) => ApiError | undefined = () => undefined;

  /** @param clock of the server; by default its objects are older than any time of a test */
  constructor(clock = new ManualClock()) {
    this.#server = new MemoryServer({
      crds: [...ranCrds(), ...transportCrds(), ...policyCrds(), ...clusterSetCrds()],
      namespaces: ['policies', 'spoke'],
      clock,
    });
  }

  /** Starts a process with filled caches of its own. */
  async process(): Promise<HubProcess> {
    const noted = beforeWrites(this.#server.client(), ({ verb, kind, ref }) => {
      this.writes.push([verb, kind.plural, ...(ref.name === '' ? [] : [ref.name])].join(' '));
      const error = this.refuse(verb, kind, ref);
      if (error) throw error;
    });
    const remove: Client['delete'] = async (kind, ref, options) => {
      const found = await noted.delete(kind, ref, options);
      // The work's agent has nothing to clean, and lets it go at once.
      if (found && kind.kind === ManifestWork.kind) this.remove(kind, ref);
      return found;
    };
    const { client, hold } = holdWatches(clientWith(noted, { delete: remove }));
    const shared = { logger: createLogger({ name: 'test', level: 'silent' }), metrics: createMetrics() };
    const caches = createWorkerCaches(client, shared);
    for (const cache of Object.values(caches)) cache.start(this.#stop.signal);
    await Promise.all(Object.values(caches).map((cache) => cache.synced()));
    return { client, caches, hold };
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Creates or replaces an object. A cluster has its namespace, as registration makes it. */
  put(kind: Resource, object: KubeObject): KubeObject {
    const { name } = object.metadata;
    if (kind.kind === ManagedCluster.kind && !this.get(Namespace, { name })) this.#server.restore(Namespace, { metadata: { name } });
    return this.#server.restore(kind, object);
  }

  get(kind: Resource, ref: Ref): KubeObject | undefined {
    return this.#server.read(kind, ref);
  }

  remove(kind: Resource, ref: Ref): void {
    this.#server.erase(kind, ref);
  }

  /** Takes a kind away with its definition and its objects; nothing where it is gone. */
  unserve({ plural, apiVersion }: Resource): void {
    const name = `${plural}.${apiVersion.split('/', 1)[0]}`;
    if (!this.#server.read(CustomResourceDefinition, { name })) return;
    this.#server.erase(CustomResourceDefinition, { name });
    this.#server.endWatches();
  }

  /** Names of the objects of a kind. */
  names(kind: Resource): string[] {
    return this.#server.readAll(kind).map(({ metadata }) => metadata.name);
  }
}
