import { type KubeObject, parseJson, type Ref, type Resource } from '@flotilla/api';
import type { z } from 'zod';
import { isAlreadyExists } from './errors.ts';

/** An object that its kind's schema refused. */
export interface InvalidObject {
  readonly kind: string;
  readonly ref: Ref;
  /** Empty when the object had none. */
  readonly resourceVersion: string;
  /** The object is gone: it came in a DELETED event. */
  readonly deleted: boolean;
  /** The schema's verdict; names the field. */
  readonly error: Error;
}

interface ManyOptions {
  /** Called for each object that its schema refuses; the object is skipped. Default: logged once per object and version. */
  readonly onInvalid?: (invalid: InvalidObject) => void;
}

/** Options every call takes. */
export interface CallOptions {
  /** Ends the call early. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the call fails with `FLOTILLA_API_TIMEOUT`, retries included; of a list, each page. Default 30 000. */
  readonly timeoutMs?: number;
}

/** Selection and bounds of a list. */
export interface ListOptions<T extends KubeObject = KubeObject> extends CallOptions, ManyOptions {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; default 500. All pages are read. */
  readonly pageSize?: number;
  /** Applied to each object as it comes in, before the next page is read. */
  readonly transform?: (object: T) => T;
}

/** Options of calls that write an object. */
export interface WriteOptions extends CallOptions {
  /** The server checks the write and answers with what it would store, and stores nothing; default false. */
  readonly dryRun?: boolean;
}

/** In whose name an object is made. */
export interface CreateOptions extends WriteOptions {
  readonly fieldManager?: string;
}

/** In whose name an object, or a part of it, is replaced. */
export interface ReplaceOptions extends CreateOptions {
  readonly subresource?: string;
}

/** Type of a patch, and its subresource. */
export interface PatchOptions extends WriteOptions {
  readonly type: 'merge' | 'json';
  readonly subresource?: string;
}

/** In whose name it is applied, and whether over others. */
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields of other managers; default false. */
  readonly force?: boolean;
  readonly subresource?: string;
}

/** Guards of a deletion, and the end of its dependents. */
export interface DeleteOptions extends CallOptions {
  /** Delete only the object with this uid; another uid counts as gone. */
  readonly uid?: string;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  /** 0 deletes a pod without waiting for its node. Default: what the object says. */
  readonly gracePeriodSeconds?: number;
}

/** One event of a watch. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** `timeoutMs` covers the time until the server accepts the watch; one that is silent, without even a bookmark, ends after 150 s. */
export interface WatchOptions extends CallOptions, ManyOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
}

/**
 * One API server, for any kind. Objects are parsed with the kind's schema as they come in.
 * A refusal is an `ApiError` with `status`, `reason` and the server's message; `get` and `delete` treat 404 as an answer.
 */
export interface Client {
  /** Base URL of the server, for messages. */
  readonly server: string;
  get<T extends KubeObject>(kind: Resource<T>, ref: Ref, options?: CallOptions): Promise<T | undefined>;
  list<T extends KubeObject>(kind: Resource<T>, options?: ListOptions<T>): Promise<{ items: T[]; resourceVersion: string }>;
  create<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options?: CreateOptions): Promise<T>;
  /** PUT; the object carries its resourceVersion. */
  replace<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options?: ReplaceOptions): Promise<T>;
  patch<T extends KubeObject>(kind: Resource<T>, ref: Ref, patch: unknown, options: PatchOptions): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options: ApplyOptions): Promise<T>;
  /** False when there was nothing to delete. */
  delete(kind: Resource, ref: Ref, options?: DeleteOptions): Promise<boolean>;
  deleteCollection(kind: Resource, options: { readonly namespace: string; readonly labelSelector: string } & CallOptions): Promise<void>;
  /** Ends (without an error) when the server closes the stream or `signal` aborts; throws `ApiError` 410 when the version is too old. */
  watch<T extends KubeObject>(kind: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** GET of any path, at most `maxBytes` (default 16 MiB) of it, as text: `/metrics`, `/readyz`. */
  getText(path: string, options?: CallOptions & { readonly maxBytes?: number }): Promise<string>;
  /** JSON request of any path, for what the methods above do not cover (discovery, subresources). */
  request(
    method: string,
    path: string,
    options?: CallOptions & { readonly body?: unknown; readonly contentType?: string },
  ): Promise<unknown>;
  close(): Promise<void>;
}

/** Creates an object; undefined where there is one of its name already. */
export async function createMissing<T extends KubeObject>(
  client: Pick<Client, 'create'>,
  kind: Resource<T>,
  object: KubeObject,
  options?: CreateOptions,
): Promise<T | undefined> {
  try {
    return await client.create(kind, object, options);
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    throw error;
  }
}

/** Reads what a server sends. */
export interface Reading {
  /** A text as JSON; throws for what is none. */
  readonly json: (text: string) => unknown;
  /** An object as its kind has it. */
  readonly object: <T extends KubeObject>(kind: Resource<T>, raw: unknown) => z.ZodSafeParseResult<T>;
}

/** Reads everything anew, so that what was read is the caller's. */
export const plainReading: Reading = { json: parseJson, object: (kind, raw) => kind.schema.safeParse(raw) };
