import { isJsonObject, isSameJson, type KubeObject, type Ref, type Resource } from '@flotilla/api';
import { ApiError, type Client } from '@flotilla/runtime';
import type { Json } from '../schema/schema.ts';

/** One answer, without what differs from server to server: uids, versions and times. */
export type Answer = Json;

type Patch = Parameters<Client['patch']>;
type Apply = Parameters<Client['apply']>;
type List = Parameters<Client['list']>;

/** Asks one server, and writes down its answers. A method resolves to the object of the answer, or to undefined for a refusal. */
export class Transcript {
  readonly answers: Answer[] = [];
  /** Namespace of the question. */
  readonly namespace: string;
  readonly #client: Client;
  readonly #uids = new Map<string, string>();
  readonly #versions = new Map<string, string>();
  /** `metadata.managedFields` is part of the answers. */
  showsManagers = false;

  constructor(client: Client, namespace: string) {
    this.#client = client;
    this.namespace = namespace;
  }

  /** A ref in the question's namespace. */
  ref(name: string): Ref & { readonly namespace: string } {
    return { namespace: this.namespace, name };
  }

  /** An object of the question's namespace. */
  object(name: string, fields: Json = {}, metadata: Json = {}): KubeObject {
    return { ...fields, metadata: { ...metadata, name, namespace: this.namespace } } as KubeObject;
  }

  create(kind: Resource, object: KubeObject, options?: { readonly dryRun?: boolean; readonly fieldManager?: string }) {
    return this.#told('create', () => this.#client.create(kind, object, options));
  }

  get(kind: Resource, ref: Ref) {
    return this.#told('get', () => this.#client.get(kind, ref));
  }

  replace(kind: Resource, object: KubeObject, options?: Parameters<Client['replace']>[2]) {
    return this.#told('replace', () => this.#client.replace(kind, object, options));
  }

  merge(kind: Resource, ref: Ref, patch: Patch[2], subresource?: string) {
    const options = { type: 'merge' as const, ...(subresource && { subresource }) };
    return this.#told('merge', () => this.#client.patch(kind, ref, patch, options));
  }

  json(kind: Resource, ref: Ref, patch: Patch[2], subresource?: string) {
    const options = { type: 'json' as const, ...(subresource && { subresource }) };
    return this.#told('json', () => this.#client.patch(kind, ref, patch, options));
  }

  apply(kind: Resource, object: KubeObject, fieldManager: string, options: Partial<Apply[2]> = {}) {
    return this.#told('apply', () => this.#client.apply(kind, object, { fieldManager, ...options }));
  }

  async delete(kind: Resource, ref: Ref, options?: Parameters<Client['delete']>[2]): Promise<void> {
    await this.#told('delete', async () => ({ deleted: await this.#client.delete(kind, ref, options) }));
  }

  async deleteCollection(kind: Resource, labelSelector: string): Promise<void> {
    await this.#told('deleteCollection', async () => {
      await this.#client.deleteCollection(kind, { namespace: this.namespace, labelSelector });
      return {};
    });
  }

  /** Names alone. */
  async names(kind: Resource, options?: List[1]): Promise<void> {
    await this.#told('names', async () => {
      const { items } = await this.#client.list(kind, { namespace: this.namespace, ...options });
      return { names: items.map(({ metadata }) => metadata.name) };
    });
  }

  request(method: string, path: string, body?: unknown, contentType?: string) {
    const options = { ...(body !== undefined && { body }), ...(contentType && { contentType }) };
    return this.#told(method, () => this.#client.request(method, path, options));
  }

  /** Makes a call, and writes nothing down: for what is not the question. */
  async silently<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return act(this.#client);
  }

  /** The version of a list of the kind in the question's namespace. */
  async version(kind: Resource): Promise<string> {
    const { resourceVersion } = await this.#client.list(kind, { namespace: this.namespace });
    return resourceVersion;
  }

  /** The next events of a watch, without bookmarks. */
  async watch(
    kind: Resource,
    count: number,
    options: { readonly resourceVersion: string; readonly labelSelector?: string; readonly fieldSelector?: string },
  ) {
    await this.#told('watch', async () => {
      const stop = new AbortController();
      const events: unknown[] = [];
      for await (const event of this.#client.watch(kind, { namespace: this.namespace, ...options, signal: stop.signal })) {
        if (event.type === 'BOOKMARK') continue;
        events.push(event);
        if (events.length === count) stop.abort();
      }
      return { events };
    });
  }

  async #told(how: string, act: () => Promise<unknown>): Promise<KubeObject | undefined> {
    try {
      const answer = await act();
      this.answers.push({ [how]: this.#masked(answer) ?? 'nothing' });
      return answer as KubeObject | undefined;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.answers.push({ [how]: { refused: this.#masked(refusalOf(error)) } });
      return undefined;
    }
  }

  #masked(value: unknown, key = ''): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#masked(item));
    if (isJsonObject(value)) {
      const entries = Object.entries(value).filter(
        ([name, child]) => child !== undefined && (name !== 'managedFields' || this.showsManagers),
      );
      return Object.fromEntries(entries.map(([name, child]) => [name, this.#masked(child, name)]));
    }
    if (typeof value !== 'string') return value;
    if (key === 'uid' && /^[0-9a-f-]{36}$/.test(value)) return labelOf(this.#uids, value, 'uid');
    if (key === 'resourceVersion' && /^\d+$/.test(value)) return labelOf(this.#versions, value, 'version');
    if (key === 'continue') return '<continue>';
    if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) && !value.startsWith('2001-')) return '<time>';
    return value
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (uid) => labelOf(this.#uids, uid, 'uid'))
      .replaceAll(/too old resource version: 1 \(\d+\)/g, 'too old resource version: 1 (<version>)');
  }
}

/** A server tells of several refused fields in any order, and of some twice. */
function refusalOf({ status, reason, code, serverMessage, causes }: ApiError): Json {
  const sorted = causes.toSorted((a, b) => (`${a.field} ${a.message}` < `${b.field} ${b.message}` ? -1 : 1));
  const distinct = sorted.filter((cause, index) => !isSameJson(cause, sorted[index - 1]));
  const message = distinct.length > 1 ? serverMessage.replace(/ is invalid: \[.*\]$/s, ' is invalid: <causes>') : serverMessage;
  return { status, reason, code, message, causes: distinct };
}

/** Equal values have equal labels, numbered as they come. */
function labelOf(labels: Map<string, string>, value: string, what: string): string {
  const label = labels.get(value) ?? `<${what} ${labels.size + 1}>`;
  labels.set(value, label);
  return label;
}
