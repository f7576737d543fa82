import { FlotillaError, foreign, type KubeObject, type Ref, type Resource, refKey } from '@flotilla/api';
import { type Clock, systemClock } from '@flotilla/pace';
import { z } from 'zod';
import {
  type ApplyOptions,
  type CallOptions,
  type Client,
  type CreateOptions,
  type DeleteOptions,
  type InvalidObject,
  type ListOptions,
  type PatchOptions,
  plainReading,
  type Reading,
  type ReplaceOptions,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from './client.ts';
import { ApiError, describeForeign, isConflict, isExpired, isNotFound, RuntimeErrorCode, transportError } from './errors.ts';
import { collectionPath, needNamespace, objectPath, query } from './resource-path.ts';
import { IdleTimer } from './timers.ts';
import { type Call, describe, type Exchange, OBJECT_BYTES } from './transport.ts';
import { lines, nameOf, parseEvent } from './watch-stream.ts';

const PAGE_BYTES = 64 * 1024 * 1024;
const PAGE_SIZE = 500;
/** Servers send a bookmark about once a minute, so that a watch that is silent for much longer is on a dead connection. */
const WATCH_IDLE_MS = 150_000;
const FULL_LISTS = 3;

const Page = foreign(
  z.looseObject({
    metadata: z.looseObject({ resourceVersion: z.string().default(''), continue: z.string().optional() }),
    items: z.array(z.unknown()).nullish(),
  }),
);

/** Surroundings of a client. */
export interface RestClientOptions {
  /** Base URL, for messages. */
  readonly server: string;
  readonly exchange: Exchange;
  readonly onInvalid: (invalid: InvalidObject) => void;
  /** Milliseconds without an event or a bookmark after which a watch ends; default 150 000. */
  readonly watchIdleMs?: number | undefined;
  /** Time of silent watches; default the machine's. */
  readonly clock?: Clock;
  /** Numbers in [0, 1) that spread the ends of watches; default the machine's. */
  readonly random?: () => number;
  /** Default: everything anew. */
  readonly reading?: Reading | undefined;
}

/** The `Client` over HTTP, or over anything that answers as an API server does. */
export class RestClient implements Client {
  readonly server: string;
  readonly #transport: Exchange;
  readonly #onInvalid: (invalid: InvalidObject) => void;
  readonly #watchIdleMs: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #reading: Reading;

  constructor(options: RestClientOptions) {
    this.server = options.server;
    this.#transport = options.exchange;
    this.#onInvalid = options.onInvalid;
    this.#watchIdleMs = options.watchIdleMs ?? WATCH_IDLE_MS;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#reading = options.reading ?? plainReading;
  }

  async get<T extends KubeObject>(kind: Resource<T>, ref: Ref, options?: CallOptions): Promise<T | undefined> {
    try {
      return await this.#object(kind, { ...bounds(options), method: 'GET', path: objectPath(kind, ref), idempotent: true });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(kind: Resource<T>, options: ListOptions<T> = {}): Promise<{ items: T[]; resourceVersion: string }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#allPages(kind, options);
      } catch (error) {
        // The continue token ran out between two pages: begin again.
        if (!isExpired(error) || attempt >= FULL_LISTS) throw error;
      }
    }
  }

  async create<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options: CreateOptions = {}): Promise<T> {
    const path = collectionPath(kind, needNamespace(kind, object.metadata)) + writeQuery(options);
    return this.#object(kind, { ...bounds(options), method: 'POST', path, body: withType(kind, object), idempotent: false });
  }

  async replace<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options: ReplaceOptions = {}): Promise<T> {
    const path = objectPath(kind, object.metadata, options.subresource) + writeQuery(options);
    return this.#object(kind, { ...bounds(options), method: 'PUT', path, body: withType(kind, object), idempotent: true });
  }

  async patch<T extends KubeObject>(kind: Resource<T>, ref: Ref, patch: unknown, options: PatchOptions): Promise<T> {
    const contentType = options.type === 'json' ? 'application/json-patch+json' : 'application/merge-patch+json';
    const path = objectPath(kind, ref, options.subresource) + writeQuery(options);
    return this.#object(kind, { ...bounds(options), method: 'PATCH', path, body: patch, contentType, idempotent: false });
  }

  async apply<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options: ApplyOptions): Promise<T> {
    const path = objectPath(kind, object.metadata, options.subresource) + writeQuery(options);
    return this.#object(kind, {
      ...bounds(options),
      method: 'PATCH',
      path,
      body: withType(kind, object),
      contentType: 'application/apply-patch+yaml',
      idempotent: true,
    });
  }

  async delete(kind: Resource, ref: Ref, options: DeleteOptions = {}): Promise<boolean> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(options.uid ? { preconditions: { uid: options.uid } } : {}),
      propagationPolicy: options.propagationPolicy ?? 'Background',
      ...(options.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
    };
    try {
      await this.#transport.send({ ...bounds(options), method: 'DELETE', path: objectPath(kind, ref), body, idempotent: true });
      return true;
    } catch (error) {
      // 409 answers the precondition: an object of that name exists, but it is another one.
      if (isNotFound(error) || (options.uid !== undefined && isConflict(error))) return false;
      throw error;
    }
  }

  async deleteCollection(
    kind: Resource,
    options: { readonly namespace: string; readonly labelSelector: string } & CallOptions,
  ): Promise<void> {
    if (options.labelSelector === '')
      throw new FlotillaError(
        RuntimeErrorCode.invalidRef,
        `labelSelector of deleteCollection of ${kind.plural} is empty: name one, or everything would go`,
      );
    const path =
      collectionPath(kind, needNamespace(kind, options)) + query({ labelSelector: options.labelSelector, propagationPolicy: 'Background' });
    await this.#transport.send({ ...bounds(options), method: 'DELETE', path, maxBytes: PAGE_BYTES, idempotent: true });
  }

  async *watch<T extends KubeObject>(kind: Resource<T>, options: WatchOptions): AsyncGenerator<WatchEvent<T>, void, undefined> {
    // client-go's spread.
    const timeoutSeconds = Math.round(300 * (1 + this.#random()));
    const { labelSelector, fieldSelector, resourceVersion } = options;
    const path =
      collectionPath(kind, options.namespace) +
      query({ watch: true, allowWatchBookmarks: true, labelSelector, fieldSelector, resourceVersion, timeoutSeconds });
    const call: Call = { ...bounds(options), method: 'GET', path, idempotent: false };
    const body = await this.#transport.open(call).catch((error: unknown) => {
      if (options.signal?.aborted) return undefined;
      throw error;
    });
    if (!body) return;
    const end = (): void => void body.destroy();
    let ended = false;
    // Ends as if the server had closed it, so that the next watch goes on from the last version.
    const idle = new IdleTimer(this.#clock, this.#watchIdleMs, () => {
      ended = true;
      end();
    });
    options.signal?.addEventListener('abort', end, { once: true });
    try {
      if (options.signal?.aborted) return;
      for await (const line of lines(body)) {
        idle.refresh();
        const event = parseEvent(kind, line, options.onInvalid ?? this.#onInvalid, this.#reading);
        if (event) yield event;
      }
    } catch (error) {
      if (ended || options.signal?.aborted) return;
      if (error instanceof FlotillaError) throw error;
      throw transportError(RuntimeErrorCode.unreachable, `watch of ${kind.plural} at ${this.server}`, 'the connection was lost', error);
    } finally {
      idle[Symbol.dispose]();
      options.signal?.removeEventListener('abort', end);
      // Without a listener the error of a body destroyed after its end would be nobody's.
      body.on('error', () => undefined);
      body.destroy();
    }
  }

  getText(path: string, options: CallOptions & { readonly maxBytes?: number } = {}): Promise<string> {
    return this.#transport.send({
      ...bounds(options),
      method: 'GET',
      path: rooted(path),
      maxBytes: options.maxBytes ?? OBJECT_BYTES,
      idempotent: true,
    });
  }

  async request(
    method: string,
    path: string,
    options: CallOptions & { readonly body?: unknown; readonly contentType?: string } = {},
  ): Promise<unknown> {
    const verb = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).parse(method.toUpperCase());
    const { body, contentType } = options;
    const call: Call = {
      ...bounds(options),
      method: verb,
      path: rooted(path),
      body,
      contentType,
      idempotent: verb !== 'POST' && verb !== 'PATCH',
    };
    return this.#json(call);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #allPages<T extends KubeObject>(kind: Resource<T>, options: ListOptions<T>): Promise<{ items: T[]; resourceVersion: string }> {
    const { namespace, labelSelector, fieldSelector, transform } = options;
    const onInvalid = options.onInvalid ?? this.#onInvalid;
    const items: T[] = [];
    let limit = Math.max(1, options.pageSize ?? PAGE_SIZE);
    let next: string | undefined;
    for (;;) {
      const path = collectionPath(kind, namespace) + query({ labelSelector, fieldSelector, limit, continue: next });
      let page: z.output<typeof Page>;
      try {
        page = await this.#page({ ...bounds(options), method: 'GET', path, maxBytes: PAGE_BYTES, idempotent: true });
      } catch (error) {
        if (!(error instanceof FlotillaError) || error.code !== RuntimeErrorCode.tooLarge || limit === 1) throw error;
        limit = Math.ceil(limit / 8);
        continue;
      }
      for (const raw of page.items ?? []) {
        const item = parseItem(kind, raw, onInvalid);
        if (item) items.push(transform ? transform(item) : item);
      }
      next = page.metadata.continue || undefined;
      if (next === undefined) return { items, resourceVersion: page.metadata.resourceVersion };
    }
  }

  async #page(call: Call): Promise<z.output<typeof Page>> {
    const parsed = Page.safeParse(await this.#json(call));
    if (parsed.success) return parsed.data;
    throw transportError(RuntimeErrorCode.badAnswer, describe(call), 'the answer is no list', parsed.error);
  }

  async #object<T extends KubeObject>(kind: Resource<T>, call: Call): Promise<T> {
    const parsed = this.#reading.object(kind, await this.#json(call));
    if (parsed.success) return parsed.data;
    throw transportError(
      RuntimeErrorCode.badAnswer,
      describe(call),
      `the answer is no valid ${kind.kind}: ${z.prettifyError(parsed.error)}`,
      parsed.error,
    );
  }

  async #json(call: Call): Promise<unknown> {
    const text = await this.#transport.send(call);
    if (text === '') return {};
    try {
      return this.#reading.json(text);
    } catch (error) {
      const page = describeForeign(text);
      if (page === undefined) throw transportError(RuntimeErrorCode.badAnswer, describe(call), 'the answer is no JSON', error);
      const details = { status: 0, reason: '', serverMessage: page, isForeign: true };
      throw new ApiError(RuntimeErrorCode.badAnswer, `${describe(call)} at ${this.server}`, details, { cause: error });
    }
  }
}

const bounds = (options: CallOptions = {}): Pick<Call, 'signal' | 'timeoutMs'> => ({
  signal: options.signal,
  timeoutMs: options.timeoutMs,
});

const writeQuery = ({ fieldManager, force, dryRun }: WriteOptions & Partial<Pick<ApplyOptions, 'fieldManager' | 'force'>>): string =>
  query({ fieldManager, force: force || undefined, dryRun: dryRun ? 'All' : undefined });

/** Items of a list come without kind and apiVersion for built-in kinds; writes need them. */
const withType = (kind: Resource, object: KubeObject): KubeObject => ({ apiVersion: kind.apiVersion, kind: kind.kind, ...object });

const rooted = (path: string): string => {
  if (path.startsWith('/')) return path;
  throw new FlotillaError(RuntimeErrorCode.invalidRef, `path ${JSON.stringify(path.slice(0, 80))} does not begin with "/"`);
};

function parseItem<T extends KubeObject>(kind: Resource<T>, raw: unknown, onInvalid: (invalid: InvalidObject) => void): T | undefined {
  const parsed = kind.schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const named = nameOf(raw) ?? { ref: { name: '' }, resourceVersion: '' };
  onInvalid({ kind: kind.kind, ...named, deleted: false, error: parsed.error });
  return undefined;
}

/** Key under which an invalid object is reported once. */
export const invalidKey = (invalid: InvalidObject): string => `${invalid.kind} ${refKey(invalid.ref)} ${invalid.resourceVersion}`;
