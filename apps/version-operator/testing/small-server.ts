import { KubeObject, type Resource, refKey, resource } from '@flotilla/api';
import { ApiError, type Client, RuntimeErrorCode, type WatchEvent } from '@flotilla/runtime';
import { LiveObject } from '../src/cluster/live-object.ts';

/** Kinds that the server serves, by their keys. */
export const servedKinds: ReadonlyMap<string, Resource<LiveObject>> = new Map([
  ['/v1/Namespace', resource('v1', 'Namespace', 'namespaces', false, LiveObject)],
  ['/v1/ConfigMap', resource('v1', 'ConfigMap', 'configmaps', true, LiveObject)],
]);

type Told = (event: WatchEvent<KubeObject>) => void;

/** A server of namespaces and ConfigMaps that tells its watches of each change, may refuse an object, and may be away. Watches outlast that. */
export class SmallServer {
  readonly client: Client;
  /** Nobody answers while it is true. */
  isAway = false;
  /** Names of objects that are not taken. */
  readonly refused = new Set<string>();
  /** Calls since the beginning, answered or not, without lists and watches. */
  calls = 0;
  readonly #objects = new Map<string, KubeObject>();
  readonly #watches = new Map<string, Told>();
  #version = 1;

  constructor() {
    const called =
      <A extends unknown[], R>(answer: (...given: A) => R) =>
      async (...given: A): Promise<R> => {
        this.calls++;
        if (this.isAway)
          throw new ApiError(RuntimeErrorCode.unreachable, 'a call', { status: 0, reason: '', serverMessage: 'ECONNREFUSED' });
        return answer(...given);
      };
    const store = (kind: Resource, object: KubeObject): KubeObject => this.#store(kind, object);
    this.client = {
      list: async ({ kind }: Resource) => ({ items: this.#listed(kind), resourceVersion: String(this.#version) }),
      watch: (kind: Resource, { signal }: { readonly signal: AbortSignal }) => this.#watch(kind.kind, signal),
      request: called(() => ({ groups: [] })),
      get: called(({ kind }: Resource, { name }: { readonly name: string }) => this.#objects.get(`${kind}|${name}`)),
      create: called(store),
      replace: called(store),
      apply: called(store),
    } as unknown as Client;
  }

  /** Field `data` of a ConfigMap; undefined where there is none. */
  dataOf(name: string): unknown {
    return this.#objects.get(`ConfigMap|${name}`)?.data;
  }

  /** Somebody deletes a ConfigMap. */
  delete(name: string): void {
    const object = this.#objects.get(`ConfigMap|${name}`);
    if (!object) throw new Error(`no ConfigMap ${name}`);
    this.#objects.delete(`ConfigMap|${name}`);
    this.#watches.get('ConfigMap')?.({ type: 'DELETED', object: this.#next(object) });
  }

  #listed(kind: string): readonly KubeObject[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${kind}|`)).map(([, object]) => object);
  }

  #store({ kind }: Resource, object: KubeObject): KubeObject {
    const { name } = object.metadata;
    if (this.refused.has(name))
      throw new ApiError(RuntimeErrorCode.unavailable, refKey(object.metadata), {
        status: 500,
        reason: 'InternalError',
        serverMessage: 'no',
      });
    const type = this.#objects.has(`${kind}|${name}`) ? 'MODIFIED' : 'ADDED';
    const stored = this.#next(object);
    this.#objects.set(`${kind}|${name}`, stored);
    this.#watches.get(kind)?.({ type, object: stored });
    return stored;
  }

  #next({ metadata, ...rest }: KubeObject): KubeObject {
    return KubeObject.parse({ ...rest, metadata: { uid: metadata.name, ...metadata, resourceVersion: String(++this.#version) } });
  }

  async *#watch(kind: string, signal: AbortSignal): AsyncGenerator<WatchEvent<KubeObject>> {
    const events: WatchEvent<KubeObject>[] = [];
    let wake: () => void = () => undefined;
    this.#watches.set(kind, (event) => {
      events.push(event);
      wake();
    });
    signal.addEventListener('abort', () => wake(), { once: true });
    while (!signal.aborted) {
      yield* events.splice(0);
      if (!signal.aborted && events.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}
