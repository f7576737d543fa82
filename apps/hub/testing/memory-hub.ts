/** API server of a hub in memory, for the tests of this folder: each process's watch events can be held back. */

import { type KubeObject, mergePatched, type Ref, type Resource, refKey } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ApiError, type Client, createLogger, createMetrics, WatchCache, type WatchEvent } from '@flotilla/runtime';
import { type SpokeJobCaches, upgradeIndexes } from '../src/spokes/port/caches.ts';
import { transportCaches } from '../src/spokes/transport-caches.ts';

interface Entry {
  readonly kind: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly version: number;
}

/** A process with its view of the hub. */
export interface HubProcess {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  /** Holds back further events of these kinds (plurals), and releases all others. */
  hold(...kinds: readonly string[]): void;
}

/** Plurals of the kinds whose events are held back. */
interface EventFilter {
  held: readonly string[];
}

/** Hub in memory. Stop it, because its watches wait for ever otherwise. */
export class MemoryHub {
  readonly #objects = new Map<string, KubeObject>();
  readonly #log: Entry[] = [];
  #waiting: (() => void)[] = [];
  /** All writes by clients, as `verb plural name`. */
  readonly writes: string[] = [];
  readonly #stop = new AbortController();
  /** Error with which the server refuses a write. */
  refuse: (verb: 'create' | 'patch' | 'delete', kind: Resource, ref: Ref) => ApiError | undefined = () => undefined;

  /** Starts a process with filled caches of its own. */
  async process(): Promise<HubProcess> {
    const filter: EventFilter = { held: [] };
    const client = this.#client(filter);
    const shared = { logger: createLogger({ name: 'test', level: 'silent' }), metrics: createMetrics() };
    const caches: SpokeJobCaches = {
      clusters: new WatchCache(client, ManagedCluster),
      upgrades: new WatchCache(client, ClusterGroupUpgrade, { indexes: upgradeIndexes }),
      ...transportCaches(client, shared),
    };
    for (const cache of Object.values(caches)) cache.start(this.#stop.signal);
    await Promise.all(Object.values(caches).map((cache) => cache.synced()));
    const hold = (...kinds: readonly string[]): void => {
      filter.held = kinds;
      this.#notify();
    };
    return { client, caches, hold };
  }

  stop(): void {
    this.#stop.abort();
    this.#notify();
  }

  /** Creates or replaces an object. */
  put(kind: Resource, object: KubeObject): KubeObject {
    const key = `${kind.plural} ${refKey(object.metadata)}`;
    const before = this.#objects.get(key);
    const version = this.#log.length + 1;
    const { uid = before?.metadata.uid ?? `uid-${version}`, creationTimestamp = '2026-01-01T00:00:00Z' } = object.metadata;
    const stored = { ...object, metadata: { ...object.metadata, uid, creationTimestamp, resourceVersion: String(version) } };
    this.#objects.set(key, stored);
    this.#append({ kind: kind.plural, type: before ? 'MODIFIED' : 'ADDED', object: stored, version });
    return stored;
  }

  get(kind: Resource, ref: Ref): KubeObject | undefined {
    return this.#objects.get(`${kind.plural} ${refKey(ref)}`);
  }

  remove(kind: Resource, ref: Ref): void {
    const object = this.get(kind, ref);
    if (!object) return;
    const version = this.#log.length + 1;
    this.#objects.delete(`${kind.plural} ${refKey(ref)}`);
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    this.#append({ kind: kind.plural, type: 'DELETED', object: { ...object, metadata }, version });
  }

  /** Names of the objects of a kind. */
  names(kind: Resource): string[] {
    const prefix = `${kind.plural} `;
    return [...this.#objects].filter(([key]) => key.startsWith(prefix)).map(([, { metadata }]) => metadata.name);
  }

  #check(verb: 'create' | 'patch' | 'delete', kind: Resource, ref: Ref): void {
    const error = this.refuse(verb, kind, ref);
    if (error) throw error;
  }

  #append(entry: Entry): void {
    this.#log.push(entry);
    this.#notify();
  }

  #notify(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  async *#follow<T extends KubeObject>(
    { filter, labelSelector }: { readonly filter: EventFilter; readonly labelSelector: string | undefined },
    kind: Resource<T>,
    after: string,
    signal?: AbortSignal,
  ) {
    let at = Number(after);
    while (!signal?.aborted && !this.#stop.signal.aborted) {
      const next = filter.held.includes(kind.plural)
        ? undefined
        : this.#log.find((entry) => entry.kind === kind.plural && entry.version > at && isSelected(entry.object, labelSelector));
      if (next) {
        at = next.version;
        yield { type: next.type, object: kind.schema.parse(next.object) } satisfies WatchEvent<T>;
      } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #client(filter: EventFilter): Client {
    const refuse = (): never => {
      throw new Error('a step must not make this call');
    };
    return {
      server: 'https://hub.test',
      get: async (kind, ref) => {
        const found = this.get(kind, ref);
        return found && kind.schema.parse(found);
      },
      list: async (kind, { transform, labelSelector } = {}) => {
        const prefix = `${kind.plural} `;
        const items = [...this.#objects]
          .filter(([key, object]) => key.startsWith(prefix) && isSelected(object, labelSelector))
          .map(([, object]) => kind.schema.parse(object));
        return { items: transform ? items.map(transform) : items, resourceVersion: String(this.#log.length) };
      },
      watch: (kind, { resourceVersion, signal, labelSelector }) => this.#follow({ filter, labelSelector }, kind, resourceVersion, signal),
      create: async (kind, object) => {
        const key = refKey(object.metadata);
        this.writes.push(`create ${kind.plural} ${object.metadata.name}`);
        this.#check('create', kind, object.metadata);
        if (this.get(kind, object.metadata))
          throw new ApiError('FLOTILLA_API_ALREADY_EXISTS', key, { status: 409, reason: 'AlreadyExists', serverMessage: 'already exists' });
        return kind.schema.parse(this.put(kind, object));
      },
      delete: async (kind, ref, { uid } = {}) => {
        this.writes.push(`delete ${kind.plural} ${ref.name}`);
        this.#check('delete', kind, ref);
        const found = this.get(kind, ref);
        if (!found || (uid !== undefined && found.metadata.uid !== uid)) return false;
        this.remove(kind, ref);
        return true;
      },
      deleteCollection: async (kind, { namespace, labelSelector }) => {
        this.writes.push(`deleteCollection ${kind.plural}`);
        this.#check('delete', kind, { namespace, name: '' });
        for (const [key, { metadata }] of [...this.#objects]) {
          if (key.startsWith(`${kind.plural} `) && metadata.namespace === namespace && isSelected({ metadata }, labelSelector))
            this.remove(kind, metadata);
        }
      },
      patch: async (kind, ref, patch) => {
        this.writes.push(`patch ${kind.plural} ${ref.name}`);
        this.#check('patch', kind, ref);
        const found = this.get(kind, ref);
        if (!found)
          throw new ApiError('FLOTILLA_API_NOT_FOUND', refKey(ref), { status: 404, reason: 'NotFound', serverMessage: 'not found' });
        const merged = kind.schema.parse(mergePatched(found, patch));
        // An object under deletion goes with its last finalizer.
        if (merged.metadata.deletionTimestamp && !merged.metadata.finalizers?.length) this.remove(kind, ref);
        else return kind.schema.parse(this.put(kind, merged));
        return merged;
      },
      replace: refuse,
      apply: refuse,
      getText: refuse,
      request: refuse,
      close: async () => {},
    };
  }
}

/** The label selectors that the hub uses: `key`, `!key`, `key=value`, `key!=value`, `key in (a,b)` and `notin`, all of which must hold. */
function isSelected({ metadata: { labels = {} } }: KubeObject, selector = ''): boolean {
  return selector.split(/,(?![^(]*\))/).every((each) => {
    const [, isAbsent, key = '', operator, value = ''] = /^(!?)([^!=\s]+)\s*(!=|=|in|notin)?\s*(.*)$/.exec(each) ?? [];
    const found = labels[key];
    if (operator === undefined) return each === '' || (found === undefined) === (isAbsent === '!');
    const isIn = value
      .replaceAll(/[()\s]/g, '')
      .split(',')
      .includes(found ?? '');
    return operator === '!=' || operator === 'notin' ? !isIn : isIn;
  });
}
