/** As much of an API server as the operator and a simulated cluster work with, in memory and in the time of a clock: for tests. */
import { conditionTime, isSameJson, type KubeObject, mergePatched, type Ref, type Resource, refKey } from '@flotilla/api';
import { ApiError, type Client, type Clock, type PatchOptions, RuntimeErrorCode, type WatchEvent } from '@flotilla/runtime';
import { z } from 'zod';

type Stored = KubeObject & { readonly spec?: unknown; readonly status?: unknown };
interface Happening {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Stored;
}
interface Kept {
  readonly objects: Map<string, Stored>;
  readonly happenings: Happening[];
}

const Operations = z.array(
  z.union([
    z.object({
      op: z.literal('add'),
      path: z.union([z.literal('/status'), z.templateLiteral(['/status/', z.string()])]),
      value: z.unknown(),
    }),
    z.object({ op: z.literal('test'), path: z.literal('/metadata/uid'), value: z.unknown() }),
  ]),
);
const Preconditions = z.looseObject({
  metadata: z.looseObject({ uid: z.string().optional(), resourceVersion: z.string().optional() }).optional(),
});
const refusal = (status: number, reason: string, code: string, what: string): ApiError =>
  new ApiError(code, what, { status, reason, serverMessage: what });

/** Keeps objects under versions; status is written as a subresource alone, finalizers hold what is deleted, and watches tell of everything in order. */
export class MemoryApi {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Kept>();
  #waiting: (() => void)[] = [];
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Client for the operator and the actors. */
  get client(): Client {
    const methods: Pick<Client, 'get' | 'list' | 'create' | 'patch' | 'delete' | 'watch'> = {
      get: async (kind, ref) => this.#read(kind, this.#kept(kind).objects.get(refKey(ref))),
      list: async (kind, { namespace, fieldSelector = '', transform = asItIs } = {}) => ({
        items: [...this.#kept(kind).objects.values()]
          .filter((object) => isSelected(object, namespace, fieldSelector))
          .map((object) => transform(kind.schema.parse(structuredClone(object)))),
        resourceVersion: String(this.#version),
      }),
      create: async (kind, object) => this.#create(kind, object),
      patch: async (kind, ref, patch, options) => this.#patch(kind, ref, patch, options),
      delete: async (kind, ref, { uid } = {}) => this.#delete(kind, ref, uid),
      watch: (kind, { namespace, fieldSelector = '', resourceVersion, signal = new AbortController().signal }) =>
        this.#watch(kind, (object) => isSelected(object, namespace, fieldSelector), Number(resourceVersion), signal),
    };
    // Nothing else is called here; whoever does learns so.
    return methods as Client;
  }

  #kept({ apiVersion, plural }: Resource): Kept {
    const key = `${apiVersion}/${plural}`;
    const kept = this.#kinds.get(key) ?? { objects: new Map(), happenings: [] };
    this.#kinds.set(key, kept);
    return kept;
  }

  #read<T extends KubeObject>(kind: Resource<T>, object: Stored | undefined): T | undefined {
    return object && kind.schema.parse(structuredClone(object));
  }

  #create<T extends KubeObject>(kind: Resource<T>, object: Stored): T {
    const { objects } = this.#kept(kind);
    const key = refKey(object.metadata);
    if (objects.has(key)) throw refusal(409, 'AlreadyExists', RuntimeErrorCode.alreadyExists, `${kind.plural} "${key}" already exists`);
    const metadata = {
      ...object.metadata,
      uid: `${kind.plural}-${this.#version + 1}`,
      generation: 1,
      creationTimestamp: conditionTime(this.#clock.now()),
    };
    const created = { apiVersion: kind.apiVersion, kind: kind.kind, ...structuredClone(object), metadata, status: undefined };
    return this.#store(kind, 'ADDED', kind.schema.parse(created));
  }

  #patch<T extends KubeObject>(kind: Resource<T>, ref: Ref, patch: unknown, { type, subresource }: PatchOptions): T {
    const old = this.#kept(kind).objects.get(refKey(ref));
    if (!old) throw refusal(404, 'NotFound', RuntimeErrorCode.notFound, `${kind.plural} "${refKey(ref)}" not found`);
    const { uid, resourceVersion } = (type === 'merge' && Preconditions.parse(patch).metadata) || {};
    if (
      (uid ?? old.metadata.uid) !== old.metadata.uid ||
      (resourceVersion ?? old.metadata.resourceVersion) !== old.metadata.resourceVersion
    )
      throw refusal(409, 'Conflict', RuntimeErrorCode.conflict, `${kind.plural} "${refKey(ref)}" has been modified`);
    const patched = kind.schema.parse(type === 'merge' ? mergePatched(structuredClone(old), patch) : withOperations(old, patch));
    const { status, spec } = patched as Stored;
    const generation = (old.metadata.generation ?? 0) + (isSameJson(spec, old.spec) ? 0 : 1);
    const next: Stored =
      subresource === 'status'
        ? { ...old, status }
        : { ...patched, metadata: { ...patched.metadata, generation }, status: 'status' in old ? old.status : undefined };
    if (
      isSameJson(
        { ...next, metadata: { ...next.metadata, resourceVersion: '' } },
        { ...old, metadata: { ...old.metadata, resourceVersion: '' } },
      )
    )
      return kind.schema.parse(structuredClone(old));
    if (next.metadata.deletionTimestamp && !next.metadata.finalizers?.length) return this.#store(kind, 'DELETED', next);
    return this.#store(kind, 'MODIFIED', next);
  }

  #delete(kind: Resource, ref: Ref, uid: string | undefined): boolean {
    const old = this.#kept(kind).objects.get(refKey(ref));
    if (!old || (uid ?? old.metadata.uid) !== old.metadata.uid) return false;
    if (!old.metadata.finalizers?.length) this.#store(kind, 'DELETED', old);
    else if (!old.metadata.deletionTimestamp)
      this.#store(kind, 'MODIFIED', { ...old, metadata: { ...old.metadata, deletionTimestamp: conditionTime(this.#clock.now()) } });
    return true;
  }

  #store<T extends KubeObject>(kind: Resource<T>, type: Happening['type'], object: Stored): T {
    const { objects, happenings } = this.#kept(kind);
    this.#version += 1;
    const stored = structuredClone({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } });
    if (type === 'DELETED') objects.delete(refKey(stored.metadata));
    else objects.set(refKey(stored.metadata), stored);
    happenings.push({ version: this.#version, type, object: stored });
    this.#wakeAll();
    return kind.schema.parse(structuredClone(stored));
  }

  async *#watch<T extends KubeObject>(
    kind: Resource<T>,
    isWanted: (object: Stored) => boolean,
    since: number,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, undefined> {
    const { happenings } = this.#kept(kind);
    let next = happenings.findIndex(({ version }) => version > since);
    if (next < 0) next = happenings.length;
    signal.addEventListener('abort', () => this.#wakeAll(), { once: true });
    while (!signal.aborted) {
      for (; next < happenings.length; next += 1) {
        const { type, object } = happenings[next] ?? {};
        if (type && object && isWanted(object)) yield { type, object: kind.schema.parse(structuredClone(object)) };
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

const asItIs = <T>(object: T): T => object;

/** The operations that are used: a test of the uid, the status as a whole, and its fields. */
function withOperations(object: Stored, patch: unknown): unknown {
  let status: unknown = structuredClone(object.status);
  for (const { op, path, value } of Operations.parse(patch)) {
    if (op === 'test') {
      if (value !== object.metadata.uid) throw refusal(422, 'Invalid', RuntimeErrorCode.invalid, `testing value ${path} failed`);
    } else if (path === '/status') status = structuredClone(value);
    else status = { ...(status as object), [path.slice('/status/'.length)]: structuredClone(value) };
  }
  return { ...structuredClone(object), status };
}

/** The selectors that are used: a name, and the node of a pod. */
function isSelected(object: Stored, namespace: string | undefined, fieldSelector: string): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const [field, value] = fieldSelector.split('=');
  if (field === '') return true;
  if (field === 'metadata.name') return object.metadata.name === value;
  if (field === 'spec.nodeName') return (object.spec as { nodeName?: string } | undefined)?.nodeName === value;
  throw new RangeError(`no selector ${fieldSelector}`);
}
