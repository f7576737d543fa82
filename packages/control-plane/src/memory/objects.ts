import { conditionTime, isJsonObject, isSameJson } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';
import { apiVersionOf, builtInKinds, kindKey, type ServedKind } from './built-in-kinds.ts';
import { checkDeletion } from './built-in-strategies.ts';
import { customKind } from './custom-kinds.ts';
import { appliedObject, type Manager, trackedUpdate, withoutManagedFields } from './fields/managed-fields.ts';
import {
  checkIdentity,
  checkNamespace,
  clientMetadata,
  finalizersOf,
  isNewGeneration,
  keptMetadata,
  metadataOf,
  nameOf,
  refusedMetadata,
  tidy,
} from './metadata.ts';
import { type Change, ObjectLog, objectKey, type Stored } from './object-log.ts';
import { checkObject, completed, decoded, ownPart, withStatus } from './object-stages.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  internal,
  invalid,
  misfitPatch,
  notFound,
  UnsupportedError,
  versionNeeded,
} from './refusals/refusal.ts';
import { decodeError } from './schema/decoding.ts';
import type { Json } from './schema/schema.ts';
import { brokenRules } from './schema/validation.ts';

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

/** Conditions and manner of a deletion. */
export interface Deletion {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly gracePeriodSeconds?: number | undefined;
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

const SUFFIX = 'bcdfghjklmnpqrstvwxz2456789';

/** Objects under the rules by which an API server stores them. Throws `Refusal` as it refuses, and UnsupportedError for the unknown. */
export class Objects {
  readonly log: ObjectLog;
  readonly #options: ObjectsOptions;
  readonly #kinds = new Map<string, ServedKind>();
  #born = 0;

  constructor(options: ObjectsOptions) {
    this.#options = options;
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
    const name = this.#nameFor(kind, given);
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
      uid: this.#uid(),
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
    const { kind, name } = target;
    const { object: live } = this.get(target);
    const next = this.#next(target, live, change(live), how);
    const writer = writerOf(target, 'Update');
    return this.#replace(target, live, next, (whole) => this.#tracked(kind, live, whole, writer), name);
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
    const next = this.#next(target, live, merged, 'patch');
    return this.#replace(target, live, next, (whole) => ({ ...whole, metadata: { ...metadataOf(whole), managedFields } }), name);
  }

  #next(target: Target, live: Json, body: unknown, how: 'patch' | 'put'): Json {
    const { kind, namespace, name, subresource } = target;
    const misfit = kind.isCustom || how === 'put' ? undefined : decodeError(kind, body);
    if (misfit) throw misfitPatch(body as Json, misfit);
    const next = decoded(kind, body, { strict: target.strict });
    checkNamespace(namespace, next);
    if (nameOf(next) !== name) throw badRequest(`the name of the object (${nameOf(next)}) does not match the name on the URL (${name})`);
    if (how === 'put' && kind.strategy.needsVersion && !metadataOf(next).resourceVersion) throw versionNeeded(kind, name);
    checkIdentity(kind, live, next, subresource === 'status' ? 'status' : how);
    const metadata = keptMetadata(metadataOf(live), metadataOf(next));
    if (subresource === 'status') return withStatus(kind, live, { ...next, metadata });
    if (subresource !== undefined) throw new UnsupportedError(`write subresource ${subresource} of ${kind.plural}`);
    const { status: _, ...rest } = next;
    if (!kind.hasStatus) return { ...next, metadata };
    return { ...rest, metadata, ...(live.status !== undefined && { status: live.status }) };
  }

  #replace(target: Target, live: Json, next: Json, track: (whole: Json) => Json, name: string): Json {
    const { kind, namespace, subresource } = target;
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
    const { uid, resourceVersion, deletionTimestamp } = metadataOf(live);
    // Here alone the server names the kind where it names the plural elsewhere.
    const refused = (why: string): Error => conflict({ ...kind, plural: kind.kind }, name, why);
    if (deletion.uid !== undefined && deletion.uid !== uid)
      throw refused(
        `the UID in the precondition (${deletion.uid}) does not match the UID in record (${String(uid)}). The object might have been deleted and then recreated`,
      );
    if (deletion.resourceVersion !== undefined && deletion.resourceVersion !== resourceVersion)
      throw refused(
        `the ResourceVersion in the precondition (${deletion.resourceVersion}) does not match the ResourceVersion in record (${String(resourceVersion)}). The object might have been modified`,
      );
    checkDeletion(kind, name);
    this.#admitted({ verb: 'delete', kind, namespace, name, subresource: undefined, object: undefined, live });
    const leaving = this.#leaving(kind, live, deletion);
    if (leaving === undefined) {
      this.#written(target, 'DELETED', live);
      return undefined;
    }
    if (deletionTimestamp !== undefined && isSameJson(leaving, live)) return live;
    return this.#written(target, 'MODIFIED', leaving);
  }

  /** The object as it waits for its finalizers or its grace period; undefined when nothing holds it. */
  #leaving(kind: ServedKind, live: Json, { propagation, gracePeriodSeconds }: Deletion): Json | undefined {
    const metadata = metadataOf(live);
    const byPropagation = { Foreground: 'foregroundDeletion', Orphan: 'orphan', Background: undefined };
    const finalizer = propagation && byPropagation[propagation];
    const before = finalizersOf(live).filter((each) => propagation === undefined || !['foregroundDeletion', 'orphan'].includes(each));
    const finalizers = [...before, ...(finalizer ? [finalizer] : [])];
    const graceSeconds = gracePeriodSeconds ?? kind.strategy.gracePeriodSeconds?.(live) ?? 0;
    const seconds = kind.strategy.gracePeriodSeconds ? graceSeconds : 0;
    if (finalizers.length === 0 && seconds === 0 && !isTerminating(kind, live)) return undefined;
    const isFirst = metadata.deletionTimestamp === undefined;
    const isSooner = !isFirst && seconds < Number(metadata.deletionGracePeriodSeconds ?? 0);
    const leaving = {
      ...metadata,
      ...((isFirst || isSooner) && {
        deletionTimestamp: conditionTime(this.#options.clock.now() + seconds * 1000),
        ...(!isTerminating(kind, live) && { deletionGracePeriodSeconds: seconds }),
      }),
      ...(isFirst && metadata.generation !== undefined && { generation: Number(metadata.generation) + 1 }),
      ...(finalizers.length > 0 && { finalizers }),
    };
    const status = isTerminating(kind, live) ? { status: { ...(live.status as Json), phase: 'Terminating' } } : {};
    return { ...live, metadata: leaving, ...status };
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
    const { uid = this.#uid(), creationTimestamp = this.#time(), generation = 1 } = live ? metadataOf(live) : {};
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

  #nameFor(kind: ServedKind, { name, generateName }: Json): string {
    if (typeof name === 'string' && name !== '') return name;
    if (typeof generateName !== 'string' || generateName === '') {
      const causes = refusedMetadata(kind, {});
      throw invalid(kind, '', [...causes, ...(kind.isCustom ? brokenRules(kind.schema, {}, undefined, causes) : [])]);
    }
    let rest = this.#born + 1;
    const letters = Array.from({ length: 5 }, () => {
      const letter = SUFFIX[rest % SUFFIX.length] ?? 'x';
      rest = Math.floor(rest / SUFFIX.length);
      return letter;
    });
    return `${generateName}${letters.toReversed().join('')}`;
  }

  #uid(): string {
    this.#born += 1;
    const seed = this.#options.seed.toString(16).padStart(8, '0').slice(-8);
    return `${seed}-0000-4000-8000-${this.#born.toString(16).padStart(12, '0')}`;
  }

  #time(): string {
    return conditionTime(this.#options.clock.now());
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

/** A namespace waits for its content. */
const isTerminating = (kind: ServedKind, { spec }: Json): boolean =>
  kind.group === '' && kind.kind === 'Namespace' && isJsonObject(spec) && Array.isArray(spec.finalizers) && spec.finalizers.length > 0;
