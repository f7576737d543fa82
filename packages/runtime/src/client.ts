import type { KubeObject, Ref, Resource } from '@flotilla/api';

/** Options every call takes. */
export interface CallOptions {
  /** Ends the call early. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the call fails with `FLOTILLA_API_TIMEOUT`; default 30 000. */
  readonly timeoutMs?: number;
}

export interface ListOptions extends CallOptions {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; default 500. All pages are read. */
  readonly pageSize?: number;
}

export interface PatchOptions extends CallOptions {
  readonly type: 'merge' | 'json';
  readonly subresource?: string;
}

export interface ApplyOptions extends CallOptions {
  readonly fieldManager: string;
  /** Take over fields of other managers; default false. */
  readonly force?: boolean;
  readonly subresource?: string;
}

export interface DeleteOptions extends CallOptions {
  /** Delete only the object with this uid; another uid counts as gone. */
  readonly uid?: string;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

/** One event of a watch. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface WatchOptions extends CallOptions {
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
  list<T extends KubeObject>(kind: Resource<T>, options?: ListOptions): Promise<{ items: T[]; resourceVersion: string }>;
  create<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options?: CallOptions & { readonly fieldManager?: string }): Promise<T>;
  /** PUT; the object carries its resourceVersion. */
  replace<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options?: CallOptions & { readonly subresource?: string }): Promise<T>;
  patch<T extends KubeObject>(kind: Resource<T>, ref: Ref, patch: unknown, options: PatchOptions): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(kind: Resource<T>, object: KubeObject, options: ApplyOptions): Promise<T>;
  /** False when there was nothing to delete. */
  delete(kind: Resource, ref: Ref, options?: DeleteOptions): Promise<boolean>;
  deleteCollection(kind: Resource, options: { readonly namespace: string; readonly labelSelector: string } & CallOptions): Promise<void>;
  /** Ends (without an error) when the server closes the stream; throws `ApiError` 410 when the version is too old. */
  watch<T extends KubeObject>(kind: Resource<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** GET of any path, at most `maxBytes` (default 16 MiB) of it, as text: `/metrics`, `/readyz`. */
  getText(path: string, options?: CallOptions & { readonly maxBytes?: number }): Promise<string>;
  /** JSON request of any path, for what the methods above do not cover (discovery, subresources). */
  request(method: string, path: string, options?: CallOptions & { readonly body?: unknown; readonly contentType?: string }): Promise<unknown>;
  close(): Promise<void>;
}
