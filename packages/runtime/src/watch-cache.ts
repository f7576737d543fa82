import { errorMessage, FlotillaError, type KubeObject, type Ref, type Resource, refKey } from '@flotilla/api';
import { type BackOff, backOffMs, type Clock, pause, systemClock } from '@flotilla/pace';
import type { Client, InvalidObject, WatchEvent } from './client.ts';
import { logOnce } from './create-client.ts';
import { ApiError, isExpired, isNotFound, RuntimeErrorCode } from './errors.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { type Change, type Index, ObjectStore } from './object-store.ts';

/** Dependencies that the caches of a program share. */
export interface WatchSurroundings {
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
}

/** @typeParam N names of the indexes */
export interface WatchCacheOptions<T extends KubeObject, N extends string = never> extends WatchSurroundings {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Trims an object before it is kept, further than `metadata.managedFields`, which it may read and which is always dropped. */
  readonly transform?: (object: T) => T;
  /** Pure functions; `byIndex` finds the objects by their values. */
  readonly indexes?: Readonly<Record<N, Index<T>>>;
  /**
   * The kind may not be installed: then the cache is empty and synced, and looks again. Default false. `until-served`: once it was served, a
   * server that knows it no more is a failure like any other, and what is cached stays.
   */
  readonly optional?: boolean | 'until-served';
  /** Milliseconds between two looks for a missing optional kind. Default 30 000. */
  readonly absentRetryMs?: number;
  /** Delays after failures. Default 200 ms to 10 s. */
  readonly backOff?: BackOff;
  /** Replaces the log line for objects that their schema refuses. */
  readonly onInvalid?: (invalid: InvalidObject) => void;
  /** Called after each full list, once the cache has it: of what came and went since the last one nobody is told. */
  readonly onListed?: () => void;
}

type Listener<T> = (change: Change<T>) => void;

interface WatchFailure {
  readonly error: unknown;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly reason: string;
}

const BACK_OFF: BackOff = { baseMs: 200, maxMs: 10_000 };
/** After a watch that simply ended: at once, but not in a tight loop when the server ends each one at once. */
const REOPEN: BackOff = { baseMs: 20, maxMs: 2_000 };
/** A watch that lived this long was a healthy one. */
const HEALTHY_MS = 5_000;
/** So many short watches in a row without any event: read everything again, something is wrong with this version. */
const FRUITLESS_WATCHES = 8;
const LOG_EVERY_MS = 60_000;

/**
 * All objects of a kind, kept current by list and watch. Never gives up: whatever the server does, the last known objects stay
 * readable and the next answer repairs them. An object in a version that its schema refuses keeps its last good version.
 * @typeParam N names of its indexes: asking for another does not compile
 */
export class WatchCache<T extends KubeObject, N extends string = never> {
  readonly #client: Client;
  readonly #kind: Resource<T>;
  readonly #options: Omit<WatchCacheOptions<T>, 'indexes'>;
  readonly #clock: Clock;
  readonly #store: ObjectStore<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #synced = Promise.withResolvers<void>();
  /** Ends with the first try to read. */
  readonly #tried = Promise.withResolvers<void>();
  readonly #reportInvalid: (invalid: InvalidObject) => void;
  #running: Promise<void> | undefined;
  #version: string | undefined;
  #hasSynced = false;
  #present = false;
  #failures = 0;
  #fruitless = 0;
  #troubled = false;
  #lastFailure: WatchFailure | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #wake: (() => void) | undefined;

  constructor(client: Client, kind: Resource<T>, options: WatchCacheOptions<T, N> = {}) {
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#reportInvalid = options.onInvalid ?? logOnce(options.logger);
    const indexes: Readonly<Record<string, Index<T>>> = options.indexes ?? {};
    this.#store = new ObjectStore(indexes, (index, object, err) =>
      options.logger?.error({ kind: kind.kind, object: refKey(object.metadata), index, err }, 'Indexing an object failed'),
    );
    // Nobody may be waiting for it.
    this.#synced.promise.catch(() => undefined);
    this.#tried.promise.catch(() => undefined);
  }

  /** Begins to read, until the signal aborts. False when it was begun before: then the call does nothing. */
  start(signal: AbortSignal): boolean {
    if (this.#running) return false;
    this.#running = this.#run(signal);
    return true;
  }

  /** Resolves when the loop has ended, after the abort of `start`'s signal. */
  async stopped(): Promise<void> {
    await this.#running;
  }

  /** Resolves after the first full list; rejects with `FLOTILLA_STOPPED` when stopped before. */
  synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Resolves after the first full list; rejects while that fails, with the last failure of it. It is tried again all the same. */
  async tried(): Promise<void> {
    if (this.#hasSynced) return;
    if (this.#lastFailure) throw this.#lastFailure.error;
    await this.#tried.promise;
  }

  /** The first full list was read. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** The kind is served, as of the last list. */
  get present(): boolean {
    return this.#present;
  }

  get kind(): Resource {
    return this.#kind;
  }

  /** The last failure of a list or watch, unless the server has sent something since. A watch that was opened again may be silent for a minute. */
  get lastFailure(): WatchFailure | undefined {
    return this.#lastFailure;
  }

  get size(): number {
    return this.#store.size;
  }

  /** resourceVersion up to which the cache has seen its kind: of the last event, bookmark or list. */
  get resourceVersion(): string | undefined {
    return this.#version;
  }

  /** The last known version. Shared, not a copy: do not change it. */
  get(ref: Ref): T | undefined {
    return this.#store.get(refKey(ref));
  }

  list(): T[] {
    return this.#store.values();
  }

  /** Objects whose index function gave `value`. */
  byIndex(name: N, value: string): T[] {
    return this.#store.byIndex(name, value);
  }

  /**
   * This process has written the object: readers see it so from now on, until the watch has passed it.
   * @param object as the server answered
   */
  wrote(object: T): void {
    this.#emit(this.#store.wrote(this.#transform(object), this.#version));
  }

  /** This process has deleted the object: readers see it leaving, or gone, before the watch tells. */
  deleted(ref: Ref, uid: string | undefined): void {
    this.#emit(this.#store.deleted(ref, uid, this.#clock.now()));
  }

  /** Calls the listener for each change from now on (subscribe before `start` to see the first list); returns the way to end it. */
  subscribe(listener: Listener<T>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends the pause before the next attempt: for a missing optional kind that was just installed. */
  recheck(): void {
    this.#wake?.();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.#round(signal);
      if (waitMs > 0 && !signal.aborted) await this.#wait(waitMs, signal);
    }
    if (this.#hasSynced) return;
    const stopped = new FlotillaError(RuntimeErrorCode.stopped, `the ${this.#kind.kind} cache was stopped before its first list`);
    this.#synced.reject(stopped);
    this.#tried.reject(stopped);
  }

  /** One list or one watch; milliseconds until the next. */
  async #round(signal: AbortSignal): Promise<number> {
    const from = this.#version;
    const started = this.#clock.now();
    let failure: unknown;
    try {
      if (from === undefined) await this.#readAll(signal);
      else await this.#follow(from, signal);
    } catch (error) {
      failure = error;
    }
    if (signal.aborted || (from === undefined && failure === undefined)) return 0;
    if (from !== undefined && (this.#version !== from || this.#clock.now() - started >= HEALTHY_MS)) {
      this.#failures = 0;
      this.#fruitless = 0;
    }
    if (from !== undefined) this.#fruitless++;
    return failure === undefined ? this.#ended() : this.#failed(failure, from !== undefined);
  }

  /** The server ended the watch: under load it does, without a word. */
  #ended(): number {
    if (this.#fruitless > FRUITLESS_WATCHES) this.#listNext();
    else this.#options.metrics?.watchRestarts.inc({ resource: this.#kind.plural, how: 'watch' });
    return backOffMs(REOPEN, this.#fruitless);
  }

  #failed(error: unknown, watching: boolean): number {
    const { optional, absentRetryMs = 30_000, backOff = BACK_OFF } = this.#options;
    if (watching && (needsList(error) || this.#fruitless > FRUITLESS_WATCHES)) this.#listNext();
    if (optional && isNotFound(error) && !(optional === 'until-served' && this.#present)) {
      if (watching) return 0;
      this.#becomeAbsent();
      return absentRetryMs;
    }
    this.#failures++;
    // Everyday life of a quiet kind.
    if (isExpired(error)) return backOffMs(REOPEN, this.#failures);
    this.#logFailure(error);
    const askedForMs = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, 30_000) : 0;
    return Math.max(backOffMs(backOff, this.#failures), askedForMs);
  }

  #listNext(): void {
    this.#version = undefined;
    this.#fruitless = 0;
    this.#options.metrics?.watchRestarts.inc({ resource: this.#kind.plural, how: 'list' });
  }

  #logFailure(err: unknown): void {
    const { logger } = this.#options;
    this.#lastFailure = { at: this.#clock.now(), reason: errorMessage(err), error: err };
    this.#tried.reject(err);
    const fields = { kind: this.#kind.kind, failures: this.#failures, reason: errorMessage(err) };
    // One lost watch is everyday life too; an outage is said once a minute.
    const serious = this.#failures > 1 || this.#version === undefined;
    const now = this.#clock.now();
    if (!serious || now - this.#loggedAt < LOG_EVERY_MS) {
      logger?.debug(fields, 'Watching failed, trying again');
      return;
    }
    this.#troubled = true;
    this.#loggedAt = now;
    logger?.warn(fields, 'Watching failed, trying again');
  }

  #recovered(): void {
    this.#lastFailure = undefined;
    if (!this.#troubled) return;
    this.#troubled = false;
    this.#options.logger?.info({ kind: this.#kind.kind }, 'Watching again');
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    const seen = new Set<string>();
    this.#store.forgetWrites();
    const { items, resourceVersion } = await this.#client.list(this.#kind, {
      namespace,
      labelSelector,
      fieldSelector,
      signal,
      timeoutMs: 60_000,
      transform: this.#transform,
      onInvalid: (invalid) => {
        seen.add(refKey(invalid.ref));
        this.#reportInvalid(invalid);
      },
    });
    this.#version = resourceVersion;
    this.#present = true;
    this.#recovered();
    for (const item of items) {
      seen.add(refKey(item.metadata));
      this.#emit(this.#store.set(item));
    }
    for (const key of [...this.#store.keys()]) if (!seen.has(key) && !this.#store.isWritten(key, resourceVersion)) this.#drop(key);
    this.#becomeSynced();
    try {
      this.#options.onListed?.();
    } catch (err) {
      this.#options.logger?.error({ kind: this.#kind.kind, err }, 'Handling a list failed');
    }
  }

  async #follow(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    const onInvalid = (invalid: InvalidObject): void => {
      this.#reportInvalid(invalid);
      if (invalid.deleted) this.#emit(this.#store.delete(invalid.ref));
      if (invalid.resourceVersion) this.#version = invalid.resourceVersion;
    };
    for await (const event of this.#client.watch(this.#kind, {
      namespace,
      labelSelector,
      fieldSelector,
      resourceVersion,
      signal,
      onInvalid,
    }))
      this.#take(event);
  }

  #take(event: WatchEvent<T>): void {
    this.#recovered();
    if (event.type === 'BOOKMARK') {
      this.#version = event.resourceVersion;
      return;
    }
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
    const object = this.#transform(event.object);
    this.#emit(event.type === 'DELETED' ? this.#store.delete(object.metadata, object) : this.#store.set(object));
  }

  readonly #transform = (object: T): T => {
    try {
      return dropManagedFields(this.#options.transform?.(object) ?? object);
    } catch (err) {
      this.#options.logger?.error({ kind: this.#kind.kind, object: refKey(object.metadata), err }, 'Trimming an object failed');
      return object;
    }
  };

  #emit(change: Change<T> | undefined): void {
    if (!change) return;
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (err) {
        this.#options.logger?.error({ kind: this.#kind.kind, object: refKey(change.object.metadata), err }, 'Handling a change failed');
      }
    }
  }

  #drop(key: string): void {
    const object = this.#store.get(key);
    if (object) this.#emit(this.#store.delete(object.metadata));
  }

  #becomeAbsent(): void {
    this.#present = false;
    for (const key of [...this.#store.keys()]) this.#drop(key);
    this.#becomeSynced();
  }

  #becomeSynced(): void {
    this.#hasSynced = true;
    this.#synced.resolve();
    this.#tried.resolve();
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const end = (): void => waiting.abort();
    signal.addEventListener('abort', end, { once: true });
    this.#wake = end;
    await pause(this.#clock, ms, waiting.signal);
    this.#wake = undefined;
    signal.removeEventListener('abort', end);
  }
}

/** 404: the kind went away. 400: the version is unusable. Garbage and oversize: events may have been missed. */
const needsList = (error: unknown): boolean =>
  error instanceof ApiError &&
  ([400, 404, 410].includes(error.status) || error.code === RuntimeErrorCode.badAnswer || error.code === RuntimeErrorCode.tooLarge);

function dropManagedFields<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
