import { checkScope, type SpokeAccess, type WorkAccess } from '@flotilla/agent';
import { conditionTime, isJsonObject, isSameJson, mergePatch, mergePatched } from '@flotilla/api';
import {
  type ApplyFields,
  groupVersion,
  matchesLookup,
  noMatchesForKind,
  parseResourceSpelling,
  qualifiedName,
  type ServedResource,
  ServerRefusal,
} from '@flotilla/runtime';
import { randomUid } from '../../random.ts';
import { applyFields } from './applied-fields.ts';
import { isCustom } from './served-kinds.ts';

type Json = Record<string, unknown>;

/** metadata of a stored object. */
interface StoredMeta extends Json {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** An object of a simulated spoke. */
export type StoredObject = Json & { readonly metadata: StoredMeta };

interface Entry {
  readonly served: ServedResource;
  object: StoredObject;
  /** Object as each field manager applied it last. */
  applied?: Map<string, Json>;
}

interface SpokeStoreOptions {
  readonly kinds: readonly ServedResource[];
  readonly random: () => number;
  readonly now: () => number;
  /** Ends the deletion of a namespace. */
  readonly later: (fn: () => void) => void;
  readonly onCreated: (served: ServedResource, object: StoredObject) => void;
  /** More than metadata and status changed. */
  readonly onChanged?: (served: ServedResource, object: StoredObject) => void;
  /** An object came, changed in any way or went, as a watch would tell. */
  readonly onTouched?: (served: ServedResource, namespace: string | undefined, name: string) => void;
}

/** The objects of one simulated spoke; answers and refuses with an API server's words. */
export class SpokeStore implements SpokeAccess, WorkAccess {
  readonly #options: SpokeStoreOptions;
  readonly #entries = new Map<string, Entry>();
  /** Kinds that came with CustomResourceDefinitions, and those served from the start. */
  #kinds: readonly ServedResource[];
  #version = 100;

  constructor(options: SpokeStoreOptions) {
    this.#options = options;
    this.#kinds = options.kinds;
  }

  /** The kinds served now. */
  get kinds(): readonly ServedResource[] {
    return this.#kinds;
  }

  async findKind(apiVersion: string, kind: string): Promise<ServedResource | undefined> {
    return this.#served(apiVersion, kind);
  }

  async findResource(spelling: string): Promise<ServedResource | undefined> {
    for (const lookup of parseResourceSpelling(spelling).lookups) {
      const hit = this.#kinds.find((served) => matchesLookup(served, lookup));
      if (hit) return hit;
    }
    return undefined;
  }

  async get(served: ServedResource, namespace: string | undefined, name: string): Promise<StoredObject> {
    return this.read(served, namespace, name) ?? refuse(`${qualifiedName(served, name)} not found`);
  }

  async create(served: ServedResource, namespace: string | undefined, object: Json): Promise<StoredObject> {
    return this.put(served, namespace, object);
  }

  async mergePatch(served: ServedResource, namespace: string | undefined, name: string, patch: Json): Promise<StoredObject> {
    return this.patch(served, namespace, name, patch);
  }

  async delete(served: ServedResource, namespace: string | undefined, name: string): Promise<void> {
    if (!this.remove(served, namespace, name)) refuse(`${qualifiedName(served, name)} not found`);
  }

  async find(served: ServedResource, namespace: string | undefined, name: string): Promise<StoredObject | undefined> {
    return this.read(served, namespace, name);
  }

  /** Server-side apply; see `applyFields` for how far it goes. */
  async apply(served: ServedResource, namespace: string | undefined, name: string, object: Json, options: ApplyFields): Promise<Json> {
    const { status: _, ...wanted } = object;
    const key = keyOf(served, namespace, name);
    const live = this.#entries.get(key);
    if (!live) this.put(served, namespace, wanted);
    else {
      const { object: next, conflicts } = applyFields(live.object, live.applied?.get(options.fieldManager), wanted);
      if (conflicts.length > 0 && !options.force)
        refuse(
          `Apply failed with ${conflicts.length} conflict${conflicts.length > 1 ? 's' : ''}: conflict with another manager: ${conflicts.join(', ')}`,
        );
      this.#change(live, next);
    }
    const entry = this.#entries.get(key);
    if (entry) entry.applied = new Map(entry.applied).set(options.fieldManager, wanted);
    return entry?.object ?? wanted;
  }

  async deleteExactly(served: ServedResource, namespace: string | undefined, name: string, uid: string): Promise<void> {
    if (this.read(served, namespace, name)?.metadata.uid === uid) this.remove(served, namespace, name);
  }

  /** Every object of a kind. */
  list(served: ServedResource): StoredObject[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.served.group === served.group && entry.served.plural === served.plural)
      .map(({ object }) => object);
  }

  /** Makes an object exactly this, `status` too, as another actor on the spoke does; a missing namespace is made. Throws for a kind not served. */
  set(object: Json): StoredObject {
    const [apiVersion, kind] = [String(object.apiVersion), String(object.kind)];
    const served = this.#served(apiVersion, kind) ?? refuse(noMatchesForKind(kind, apiVersion));
    const { name, namespace } = metaOf(object);
    const where = !served.namespaced ? undefined : typeof namespace === 'string' ? namespace : 'default';
    const namespaces = this.#served('v1', 'Namespace');
    if (where !== undefined && namespaces && !this.read(namespaces, undefined, where))
      this.put(namespaces, undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: where } });
    const entry = this.#entries.get(keyOf(served, where, String(name)));
    return entry ? this.#change(entry, object) : this.put(served, where, object);
  }

  /** The object now, or undefined. */
  read(served: ServedResource, namespace: string | undefined, name: string): StoredObject | undefined {
    return this.#entries.get(keyOf(served, namespace, name))?.object;
  }

  /** Creates as a POST does; throws `ServerRefusal`. */
  put(served: ServedResource, namespace: string | undefined, object: Json): StoredObject {
    checkScope(served, namespace);
    if (namespace !== undefined) this.#checkNamespace(served, namespace, object);
    const name = this.#nameOf(served, object);
    const key = keyOf(served, namespace, name);
    const old = this.#entries.get(key);
    if (old)
      refuse(`${old.object.metadata.deletionTimestamp ? 'object is being deleted: ' : ''}${qualifiedName(served, name)} already exists`);
    const stored = { ...object, ...this.#born(served, namespace, name, object) };
    this.#entries.set(key, { served, object: stored });
    if (served.kind === 'CustomResourceDefinition') this.#serve(stored);
    this.touch(served, namespace, name);
    this.#options.onCreated(served, stored);
    return stored;
  }

  /** Tells that an object is another than it was. */
  touch(served: ServedResource, namespace: string | undefined, name: string): void {
    this.#options.onTouched?.(served, namespace, name);
  }

  /** Applies a merge patch as a PATCH does; throws `ServerRefusal`. */
  patch(served: ServedResource, namespace: string | undefined, name: string, patch: Json): StoredObject {
    const entry = this.#entries.get(keyOf(served, namespace, name)) ?? refuse(`${qualifiedName(served, name)} not found`);
    const current = entry.object;
    const next = mergePatched(current, patch);
    if (!isJsonObject(next)) return refuse('the patch is not an object');
    const meta = metaOf(next);
    checkVersion(served, name, meta.resourceVersion, current.metadata.resourceVersion);
    return this.#change(entry, { ...next, ...(current.status === undefined ? {} : { status: current.status }) });
  }

  /** Stores the next state of an object: what the server decides stays, a new version, a new generation when its spec is another. */
  #change(entry: Entry, next: Json): StoredObject {
    const current = entry.object;
    const { name, namespace, uid, creationTimestamp, deletionTimestamp } = current.metadata;
    const generation = Number(current.metadata.generation ?? 1);
    const isNewSpec = !isSameJson(specOf(current), specOf(next));
    const metadata: StoredMeta = {
      ...metaOf(next),
      ...(namespace === undefined ? {} : { namespace }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      name,
      uid,
      creationTimestamp,
      generation: isNewSpec ? generation + 1 : generation,
      resourceVersion: current.metadata.resourceVersion,
    };
    const changed: StoredObject = { ...next, metadata };
    if (isSameJson(current, changed)) return current;
    if (isNewSpec) checkImmutable(entry.served, current, changed);
    entry.object = { ...changed, metadata: { ...metadata, resourceVersion: this.#nextVersion() } };
    if (deletionTimestamp && finalizersOf(entry.object).length === 0) this.#entries.delete(keyOf(entry.served, namespace, name));
    else if (isNewSpec) this.#options.onChanged?.(entry.served, entry.object);
    this.touch(entry.served, namespace, name);
    return entry.object;
  }

  #served(apiVersion: string, kind: string): ServedResource | undefined {
    return this.#kinds.find((served) => served.kind === kind && groupVersion(served.group, served.version) === apiVersion);
  }

  /** Sets `status`, as a controller on the spoke does; nothing when the object is gone. */
  setStatus(served: ServedResource, ref: StoredMeta, status: Json): boolean {
    const entry = this.#entries.get(keyOf(served, ref.namespace, ref.name));
    if (entry?.object.metadata.uid !== ref.uid) return false;
    entry.object = { ...entry.object, status, metadata: { ...entry.object.metadata, resourceVersion: this.#nextVersion() } };
    this.touch(served, ref.namespace, ref.name);
    return true;
  }

  /** Replaces everything an Update would replace. For observers in tests. */
  replace(served: ServedResource, namespace: string | undefined, name: string, object: Json): void {
    const current = this.read(served, namespace, name) ?? refuse(`${qualifiedName(served, name)} not found`);
    const patch = mergePatch(current, object);
    if (isJsonObject(patch)) this.patch(served, namespace, name, patch);
  }

  /** Deletes as a foreground DELETE does; false when there was nothing. */
  remove(served: ServedResource, namespace: string | undefined, name: string): boolean {
    const key = keyOf(served, namespace, name);
    const entry = this.#entries.get(key);
    if (!entry) return false;
    const isNamespace = served.kind === 'Namespace';
    if (!isNamespace && finalizersOf(entry.object).length === 0) return this.#drop(key, entry);
    if (entry.object.metadata.deletionTimestamp) return true;
    const metadata = { ...entry.object.metadata, deletionTimestamp: this.#time(), resourceVersion: this.#nextVersion() };
    entry.object = { ...entry.object, metadata, ...(isNamespace ? { status: { phase: 'Terminating' } } : {}) };
    if (isNamespace) this.#options.later(() => this.#endNamespace(name));
    this.touch(served, namespace, name);
    return true;
  }

  #endNamespace(name: string): void {
    for (const [key, entry] of this.#entries) {
      if (entry.object.metadata.namespace === name || key === `/namespaces//${name}`) this.#drop(key, entry);
    }
  }

  #drop(key: string, { served, object: { metadata } }: Entry): true {
    this.#entries.delete(key);
    this.touch(served, metadata.namespace, metadata.name);
    return true;
  }

  #checkNamespace(served: ServedResource, namespace: string, object: Json): void {
    const inside = this.#entries.get(`/namespaces//${namespace}`) ?? refuse(`namespaces "${namespace}" not found`);
    if (inside.object.metadata.deletionTimestamp) {
      const { name } = metaOf(object);
      const what = qualifiedName(served, typeof name === 'string' ? name : '');
      refuse(`${what} is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`);
    }
  }

  #nameOf(served: ServedResource, object: Json): string {
    const { name, generateName } = metaOf(object);
    if (typeof name === 'string' && name !== '') return name;
    if (typeof generateName === 'string') return `${generateName}${randomUid(this.#options.random).slice(0, 5)}`;
    return refuse(`${served.kind} "" is invalid: metadata.name: Required value: name or generateName is required`);
  }

  #born(served: ServedResource, namespace: string | undefined, name: string, object: Json): { metadata: StoredMeta } & Json {
    const metadata: StoredMeta = {
      ...metaOf(object),
      ...(namespace === undefined ? {} : { namespace }),
      name,
      uid: randomUid(this.#options.random),
      resourceVersion: this.#nextVersion(),
      generation: 1,
      creationTimestamp: this.#time(),
    };
    return { metadata, ...(served.kind === 'Namespace' ? { status: { phase: 'Active' } } : {}) };
  }

  #serve(definition: Json): void {
    const spec = isJsonObject(definition.spec) ? definition.spec : {};
    const names = isJsonObject(spec.names) ? spec.names : {};
    const versions = Array.isArray(spec.versions) ? spec.versions.filter(isJsonObject) : [];
    const [kind, plural, group] = [String(names.kind), String(names.plural), String(spec.group)];
    const singular = typeof names.singular === 'string' ? names.singular : kind.toLowerCase();
    const added = versions.map(({ name }) => ({
      group,
      version: String(name),
      kind,
      plural,
      singular,
      namespaced: spec.scope === 'Namespaced',
    }));
    this.#kinds = [...this.#kinds, ...added];
  }

  #nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #time(): string {
    return conditionTime(this.#options.now());
  }
}

const keyOf = (served: ServedResource, namespace: string | undefined, name: string): string =>
  `${served.group}/${served.plural}/${namespace ?? ''}/${name}`;

/** All that counts for the generation. */
function specOf(object: Json): Json {
  const { metadata: _, status: __, ...spec } = object;
  return spec;
}

const metaOf = (object: Json): Json => (isJsonObject(object.metadata) ? object.metadata : {});

const finalizersOf = (object: StoredObject): unknown[] => (Array.isArray(object.metadata.finalizers) ? object.metadata.finalizers : []);

/** Compare-and-swap of an update (spec/ocm 1.4). */
function checkVersion(served: ServedResource, name: string, wanted: unknown, current: string): void {
  if (wanted === undefined && isCustom(served))
    refuse(`${qualifiedName(served, name)} is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`);
  if (wanted !== undefined && wanted !== current)
    refuse(
      `Operation cannot be fulfilled on ${qualifiedName(served, name)}: the object has been modified; please apply your changes to the latest version and try again`,
    );
}

/** A Job keeps the pods it was made for. */
function checkImmutable(served: ServedResource, current: StoredObject, next: StoredObject): void {
  if (served.group !== 'batch' || served.kind !== 'Job') return;
  const templateOf = ({ spec }: StoredObject): unknown => (isJsonObject(spec) ? spec.template : undefined);
  if (!isSameJson(templateOf(current), templateOf(next)))
    refuse(`Job.batch "${current.metadata.name}" is invalid: spec.template: Invalid value: core.PodTemplateSpec{}: field is immutable`);
}

function refuse(message: string): never {
  throw new ServerRefusal(message);
}
