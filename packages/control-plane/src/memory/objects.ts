import { conditionTime, isJsonObject, isSameJson } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';
import { apiVersionOf, builtInKinds, kindKey, type ServedKind } from './built-in-kinds.ts';
import { checkDeletion } from './built-in-strategies.ts';
import { customKind } from './custom-kinds.ts';
import { checkPreconditions, type Deletion, isTerminating, leavingObject } from './deletions.ts';
import { appliedObject, type Manager, trackedUpdate, withoutManagedFields } from './fields/managed-fields.ts';
import { Identities } from './identities.ts';
import { checkIdentity, checkNamespace, clientMetadata, finalizersOf, isNewGeneration, metadataOf, nameOf, tidy } from './metadata.ts';
import { type Change, ObjectLog, objectKey, type Stored } from './object-log.ts';
import { checkObject, completed, decoded, ownPart, successor } from './object-stages.ts';
import { alreadyExists, badRequest, forbidden, internal, notFound, UnsupportedError } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** A write on its way to the store. */
export interface Write {
  readonly verb: 'create' | 'update' | 'delete';
  readonly kind: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string | undefined;
  /** As it would be stored; absent for a deletion. */
  readonly object: Json | undefined;
  /** As it is stored; absent for a new one. */
  readonly live: Json | undefined;
}

/** Where an object is, and under what conditions it is written. */
export interface Target {
  readonly kind: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly dryRun?: boolean;
  /** Unknown fields are refused; default false: they are left out. */
  readonly strict?: boolean;
  readonly manager: string;
}

interface ObjectsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly admit: (write: Write) => Json | undefined;
  readonly onChange: (kind: ServedKind, change: Change) => void;
  readonly firstVersion: number;
  readonly mostChanges: number;
  /** Objects have managedFields. */
  readonly tracksFields: boolean;
  /** Digits of all uids of this server, 0 to 2^32 - 1. */
  readonly seed: number;
}

/** Objects under the rules by which an API server stores them. Throws `Refusal` as it refuses, and UnsupportedError for the unknown. */
export class Objects {
  readonly log: ObjectLog;
  readonly #options: ObjectsOptions;
  readonly #kinds = new Map<string, ServedKind>();
  readonly #identities: Identities;
  /** The last time that was written as text. */
  #told = { ms: Number.NaN, text: '' };

  constructor(options: ObjectsOptions) {
    this.#options = options;
    this.#identities = new Identities(options.seed);
    this.log = new ObjectLog(options.firstVersion, options.mostChanges);
    for (const kind of builtInKinds()) this.#kinds.set(kindKey(kind.group, kind.plural), kind);
  }

  /** Every kind that is served, in the order in which they came. */
  get kinds(): readonly ServedKind[] {
    return [...this.#kinds.values()];
  }

  kind(group: string, version: string, plural: string): ServedKind | undefined {
    const kind = this.#kinds.get(kindKey(group, plural));
    return kind?.version === version ? kind : undefined;
  }

  get({ kind, namespace, name }: Pick<Target, 'kind' | 'namespace' | 'name'>): Stored {
    return this.find(kind, namespace, name) ?? refuse(notFound(kind, name));
  }

  find(kind: ServedKind, namespace: string, name: string): Stored | undefined {
    return this.log.get(kindKey(kind.group, kind.plural), objectKey(namespace, name));
  }

  list(kind: ServedKind, version?: number): Stored[] {
    return this.log.list(kindKey(kind.group, kind.plural), version);
  }

  /** Creates as a POST does. */
  create(target: Omit<Target, 'name'>, body: unknown): Json {
    const { kind, namespace } = target;
    const object = decoded(kind, body, { strict: target.strict });
    checkNamespace(namespace, object);
    const given = metadataOf(object);
    if (typeof given.resourceVersion === 'string' && given.resourceVersion !== '')
      throw internal('resourceVersion should not be set on objects to be created');
    const name = this.#identities.nameFor(kind, given);
    this.#checkPlace(kind, namespace, name);
    const writer = writerOf(target, 'Update');
    return this.#store({ ...target, name }, { ...object, metadata: { ...given, name } }, (next) =>
      this.#tracked(kind, undefined, next, writer),
    );
  }

  /** Stores a new object. */
  #store(target: Target, object: Json, track: (next: Json) => Json): Json {
    const { kind, namespace, name } = target;
    const metadata = tidy({
      ...clientMetadata(metadataOf(object)),
      namespace,
      uid: this.#identities.uid(),
      creationTimestamp: this.#time(),
      ...(kind.strategy.countsGenerations && { generation: 1 }),
    });
    const { status, ...rest } = object;
    const keepsStatus = !kind.hasStatus || kind.strategy.keepsStatus;
    const bare = { ...rest, metadata, ...(keepsStatus && status !== undefined && { status }) };
    const admitted = this.#admitted({ verb: 'create', kind, namespace, name, subresource: undefined, object: bare, live: undefined });
    checkObject(target, admitted);
    const whole = completed(kind, admitted, this.#time());
    const old = this.find(kind, namespace, name);
    if (old) throw alreadyExists(kind, name, metadataOf(old.object).deletionTimestamp !== undefined);
    const tracked = track(whole);
    return this.#written(target, 'ADDED', tracked);
  }

  /**
   * Changes an object as PUT and PATCH do. @param change gets the stored object and gives the next one
   * @param how a PUT names the version that it replaces, where the kind asks for that
   */
  update(target: Target, change: (live: Json) => unknown, how: 'patch' | 'put'): Json {
    const { kind } = target;
    const { object: live } = this.get(target);
    const next = successor(target, live, change(live), how);
    const writer = writerOf(target, 'Update');
    return this.#replace(target, live, next, (whole) => this.#tracked(kind, live, whole, writer));
  }

  #tracked(kind: ServedKind, live: Json | undefined, next: Json, writer: Manager): Json {
    return this.#options.tracksFields ? trackedUpdate(kind, live, next, writer, this.#time()) : next;
  }

  /** Server-side apply; creates what is not there. */
  apply(target: Target, body: unknown, force: boolean): Json {
    const { kind, namespace, name } = target;
    if (!this.#options.tracksFields) throw new UnsupportedError('apply without managedFields');
    if (metadataOf(isJsonObject(body) ? body : {}).managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
    const applied = decoded(kind, body, { strict: target.strict, fillsDefaults: false });
    checkNamespace(namespace, applied);
    const writer = writerOf(target, 'Apply');
    const own = ownPart(target, { ...applied, metadata: { ...metadataOf(applied), name, ...(namespace && { namespace }) } });
    const found = this.find(kind, namespace, name);
    const merge = { kind, applied: own, writer, force, time: this.#time() };
    if (!found) {
      if (target.subresource) throw notFound(kind, name);
      this.#checkPlace(kind, namespace, name);
      const { metadata, ...rest } = appliedObject({ ...merge, live: undefined });
      const { managedFields } = metadataOf({ metadata });
      return this.#store(target, { ...rest, metadata }, (next) => ({ ...next, metadata: { ...metadataOf(next), managedFields } }));
    }
    const live = found.object;
    checkIdentity(kind, live, applied, 'patch');
    const merged = appliedObject({ ...merge, live });
    const { managedFields } = metadataOf(merged);
    const next = successor(target, live, merged, 'patch');
    return this.#replace(target, live, next, (whole) => ({ ...whole, metadata: { ...metadataOf(whole), managedFields } }));
  }

  #replace(target: Target, live: Json, next: Json, track: (whole: Json) => Json): Json {
    const { kind, namespace, name, subresource } = target;
    const admitted = this.#admitted({ verb: 'update', kind, namespace, name, subresource, object: next, live });
    const counted = this.#counted(kind, live, admitted);
    checkObject(target, counted, live);
    const whole = completed(kind, counted, this.#time(), live);
    const tracked = track(whole);
    if (isSameJson(withoutManagedFields(tracked), withoutManagedFields(live)) && isSameFields(tracked, live)) return live;
    const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadataOf(tracked);
    const isLast = deletionTimestamp !== undefined && finalizersOf(tracked).length === 0 && deletionGracePeriodSeconds === 0;
    if (!isLast || isTerminating(kind, tracked)) return this.#written(target, 'MODIFIED', tracked);
    // Watches see what was stored last; the writer sees what it wrote, which never was.
    this.#written(target, 'DELETED', live);
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...tracked };
  }

  #counted(kind: ServedKind, live: Json, next: Json): Json {
    if (!kind.strategy.countsGenerations || !isNewGeneration(kind, live, next)) return next;
    return { ...next, metadata: { ...metadataOf(next), generation: Number(metadataOf(live).generation ?? 0) + 1 } };
  }

  /** Deletes as a DELETE does; resolves to the object that stays, or undefined when it is gone. */
  remove(target: Target, deletion: Deletion = {}): Json | undefined {
    const { kind, namespace, name } = target;
    const { object: live } = this.get(target);
    checkPreconditions(kind, live, deletion);
    checkDeletion(kind, name);
    this.#admitted({ verb: 'delete', kind, namespace, name, subresource: undefined, object: undefined, live });
    const leaving = leavingObject(kind, live, deletion, this.#options.clock.now());
    if (leaving === undefined) {
      this.#written(target, 'DELETED', live);
      return undefined;
    }
    if (metadataOf(live).deletionTimestamp !== undefined && isSameJson(leaving, live)) return live;
    return this.#written(target, 'MODIFIED', leaving);
  }

  /**
   * Makes an object exactly this, with a status, a uid and times where it has them; those that it lacks are as a create or the stored one has
   * them. Nothing judges it: it may be from before its schema was as it is.
   */
  restore(kind: ServedKind, body: unknown): Json {
    const object = decoded(kind, body, {});
    const given = metadataOf(object);
    const [namespace, name] = [kind.namespaced ? String(given.namespace) : '', nameOf(object)];
    const live = this.find(kind, namespace, name)?.object;
    const { uid = this.#identities.uid(), creationTimestamp = this.#time(), generation = 1 } = live ? metadataOf(live) : {};
    const own = { uid, creationTimestamp, ...(kind.strategy.countsGenerations && { generation }) };
    const metadata = tidy({ ...own, ...given, namespace });
    return this.#written({ kind, namespace, name, manager: '' }, live ? 'MODIFIED' : 'ADDED', { ...object, metadata });
  }

  /** Takes an object out of the store, whatever holds it: for what the server's own controllers do. */
  erase(kind: ServedKind, namespace: string, name: string): void {
    const stored = this.find(kind, namespace, name);
    if (stored) this.#written({ kind, namespace, name, manager: '' }, 'DELETED', stored.object);
  }

  #written({ kind, namespace, name, dryRun = false }: Target, type: Change['type'], object: Json): Json {
    const key = kindKey(kind.group, kind.plural);
    const whole = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object };
    if (dryRun) return whole;
    const stored = this.log.write(key, objectKey(namespace, name), type, (resourceVersion) => ({
      namespace,
      name,
      object: { ...whole, metadata: { ...metadataOf(whole), resourceVersion } },
    }));
    if (kind.kind === 'CustomResourceDefinition' && !kind.isCustom) this.#serve(stored.object, type);
    const change = this.log.changesAfter(key, this.log.version - 1)[0];
    if (change) this.#options.onChange(kind, change);
    return stored.object;
  }

  #serve(definition: Json, type: Change['type']): void {
    const kind = customKind(definition);
    const key = kindKey(kind.group, kind.plural);
    if (type !== 'DELETED') {
      this.#kinds.set(key, kind);
      return;
    }
    for (const { namespace, name } of this.list(kind)) this.erase(kind, namespace, name);
    this.#kinds.delete(key);
  }

  #admitted(write: Write): Json {
    return this.#options.admit(write) ?? write.object ?? {};
  }

  /** Refuses what would come into a namespace that is not there, or is leaving. */
  #checkPlace(kind: ServedKind, namespace: string, name: string): void {
    if (!kind.namespaced) return;
    const namespaces = this.kind('', 'v1', 'namespaces');
    const place = namespaces && this.find(namespaces, '', namespace);
    if (!place) throw notFound({ group: '', kind: 'Namespace', plural: 'namespaces' }, namespace);
    if (metadataOf(place.object).deletionTimestamp === undefined) return;
    const message = `namespace ${namespace} is being terminated`;
    throw forbidden(kind, name, `unable to create new content in namespace ${namespace} because it is being terminated`, [
      { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' },
    ]);
  }

  #time(): string {
    const ms = this.#options.clock.now();
    if (this.#told.ms !== ms) this.#told = { ms, text: conditionTime(ms) };
    return this.#told.text;
  }
}

const refuse = (error: Error): never => {
  throw error;
};

const writerOf = (
  { kind, manager, subresource }: Pick<Target, 'kind' | 'manager' | 'subresource'>,
  operation: Manager['operation'],
): Manager => ({
  manager,
  operation,
  apiVersion: apiVersionOf(kind),
  ...(subresource && { subresource }),
});

const isSameFields = (a: Json, b: Json): boolean => {
  const fields = (object: Json): unknown => {
    const { managedFields } = metadataOf(object);
    return Array.isArray(managedFields) ? managedFields.map((entry: Json) => ({ ...entry, time: '' })) : undefined;
  };
  return isSameJson(fields(a), fields(b));
};
