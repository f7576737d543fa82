import { type KubeObject, KubeObject as KubeObjectSchema, type Resource } from '@flotilla/api';
import { VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { type Json, SHARED_FIELD_MANAGER, writesSharedList } from '@flotilla/release';
import { type Client, isForbidden, type Semaphore } from '@flotilla/runtime';
import type { LiveObject } from '../cluster/live-object.ts';

type Kind = Resource<LiveObject>;

/** Writes to the cluster's objects. */
export interface ClusterWriter {
  /** Nothing is written, so there is nothing to wait for either. */
  readonly isObserving: boolean;
  /** The object as stored; undefined where nothing is written. */
  create(kind: Kind, object: Json): Promise<KubeObject | undefined>;
  /** Server-side apply, which makes an object or adds to one that is there; undefined where nothing is written. */
  apply(kind: Kind, object: Json): Promise<KubeObject | undefined>;
  /** Writes the new content of the live object, under the version it was read in. */
  replace(kind: Kind, live: Json, object: Json): Promise<KubeObject | undefined>;
  /** Asks for what the server would store by `replace`; nothing is stored. Undefined where it is known to answer nobody of our rights. */
  prove(kind: Kind, object: Json): Promise<KubeObject | undefined>;
  /** `status.relatedObjects` of a ClusterOperator that was just made. */
  patchStatus(kind: Kind, object: KubeObject, status: Json): Promise<void>;
  delete(kind: Kind, object: KubeObject): Promise<void>;
}

/** A dry run: the server answers with what it would make of an object. */
const proveBy =
  (client: Client, budget: Semaphore) =>
  (kind: Kind, object: Json): Promise<KubeObject> => {
    const options = { fieldManager: VERSION_FIELD_MANAGER, dryRun: true };
    return budget.run(() => client.replace({ ...kind, schema: KubeObjectSchema }, KubeObjectSchema.parse(withoutOwners(object)), options));
  };

/** Writes within a budget of requests. */
export function createClusterWriter(client: Client, budget: Semaphore): ClusterWriter {
  const parse = (object: Json): KubeObject => KubeObjectSchema.parse(object);
  const anyOf = (kind: Kind): Resource => ({ ...kind, schema: KubeObjectSchema });
  return {
    isObserving: false,
    create: (kind, object) => budget.run(() => client.create(anyOf(kind), parse(object), { fieldManager: VERSION_FIELD_MANAGER })),
    apply: (kind, object) => budget.run(() => client.apply(anyOf(kind), parse(object), { fieldManager: VERSION_FIELD_MANAGER })),
    replace(kind, live, object) {
      const fieldManager = writesSharedList(live, object) ? SHARED_FIELD_MANAGER : VERSION_FIELD_MANAGER;
      return budget.run(() => client.replace(anyOf(kind), parse(withoutOwners(object)), { fieldManager }));
    },
    prove: proveBy(client, budget),
    async patchStatus(kind, { metadata: { name, uid, resourceVersion } }, status) {
      const patch = { metadata: { uid, resourceVersion }, status };
      await budget.run(() => client.patch(anyOf(kind), { name }, patch, { type: 'merge', subresource: 'status' }));
    },
    async delete(kind, { metadata: { namespace, name, uid } }) {
      await budget.run(() => client.delete(anyOf(kind), { namespace, name }, { uid }));
    },
  };
}

/** Without a list of owners in the request the server keeps its own. */
function withoutOwners(object: Json): Json {
  const { managedFields: _, ...metadata } = KubeObjectSchema.parse(object).metadata;
  return { ...object, metadata };
}

/** One thing that would be done. */
export interface WouldWrite {
  readonly verb: 'create' | 'change' | 'delete';
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Writes nothing and tells what it would have written. A dry run takes the right to write: one that is refused is the last. */
export function createObserver(client: Client, budget: Semaphore, tell: (write: WouldWrite) => void): ClusterWriter {
  const would = (verb: WouldWrite['verb'], kind: Kind, object: Json): undefined => {
    const { namespace, name } = KubeObjectSchema.parse(object).metadata;
    tell({ verb, kind: kind.kind, namespace, name });
  };
  const prove = proveBy(client, budget);
  let isRefused = false;
  return {
    isObserving: true,
    create: async (kind, object) => would('create', kind, object),
    apply: async () => undefined,
    replace: async (kind, live) => would('change', kind, live),
    async prove(kind, object) {
      if (isRefused) return undefined;
      return prove(kind, object).catch((error: unknown) => {
        isRefused ||= isForbidden(error);
        throw error;
      });
    },
    patchStatus: async () => undefined,
    delete: async (kind, object) => would('delete', kind, object),
  };
}
