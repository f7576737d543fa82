import { type KubeObject, type Resource, refKey } from '@flotilla/api';
import { ManifestAnnotation } from '@flotilla/api/config';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { type BuildContext, type Intent, intentOf, type Json } from '@flotilla/release';
import {
  Autoscalers,
  type Change,
  type Client,
  pause,
  scaledKeyOf,
  systemClock,
  WatchCache,
  type WatchSurroundings,
} from '@flotilla/runtime';
import { lastOfEach, type Wanted } from '../payload/wanted.ts';
import { Comparison } from './comparison.ts';
import { definedKinds, type Kinds, kindServed } from './kinds.ts';
import { isLater, LiveObject, plainMetadata, type Standing } from './live-object.ts';
import type { Wakeups } from './wakeups.ts';

interface Tracked {
  readonly wanted: readonly Wanted[];
  readonly context: BuildContext;
}

const DEFINITIONS = 'apiextensions.k8s.io/v1/CustomResourceDefinition';
const NAMESPACES = '/v1/Namespace';
/** A kind that is said to be served may take a moment to be. */
const ABSENT_RETRY_MS = 1_000;
const SERVED_LOOKS = 20;
const SERVED_LOOK_MS = 100;
/** A pass begins after so long, milliseconds, whatever kind has not been read: its objects wait for that in their turn. */
const LONGEST_READ_MS = 10_000;
/** Objects of a kind that is new are read after so long at the latest: somebody may change them. */
const NEW_KINDS_MS = 30_000;

/**
 * The cluster's objects of every kind that a release has, compared to it as they come in: what is asked later costs no request. Of each object
 * little is kept, and of one that nothing is wanted of only its name.
 */
export class LiveObjects {
  readonly kinds: Kinds;
  readonly #client: Client;
  readonly #wakeups: Wakeups;
  readonly #surroundings: WatchSurroundings;
  readonly #autoscalers: Autoscalers;
  readonly #caches = new Map<string, WatchCache<LiveObject>>();
  /** Results of our own writes, until the watch tells of them. */
  readonly #written = new Map<string, LiveObject>();
  readonly #comparison: Comparison;
  #tracked: readonly Wanted[] = [];
  #wanted = new Map<string, Wanted>();
  /** Last of the manifests of each object. */
  #last: ReadonlyMap<string, Wanted> = new Map();
  /** Kinds that the release's own definitions bring. */
  #brought: ReadonlySet<string> = new Set();
  /** Kinds of the release of which nothing is waited for, once an object is there. */
  #plain: ReadonlySet<string> = new Set();
  /** Kinds that we made ourselves, and whose objects nobody has read yet: there are those that we have written. */
  readonly #new = new Set<string>();
  #signal: AbortSignal | undefined;
  #onDrift: (wanted: Wanted) => void = () => undefined;

  constructor(client: Client, wakeups: Wakeups, surroundings: WatchSurroundings & { readonly kinds: Kinds }) {
    this.#client = client;
    this.#wakeups = wakeups;
    this.#surroundings = surroundings;
    this.kinds = surroundings.kinds;
    this.#autoscalers = new Autoscalers(client, surroundings);
    this.#comparison = new Comparison(this.#autoscalers, surroundings.logger);
    this.#autoscalers.onLeave = (target) => this.#doubt(target);
  }

  /** Called for each object that comes to differ from what is wanted of it, or goes. */
  set onDrift(listener: (wanted: Wanted) => void) {
    this.#onDrift = listener;
  }

  /** Reads until the signal aborts; nothing before the first `track`. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#autoscalers.start(signal);
  }

  async stopped(): Promise<void> {
    await Promise.all([this.#autoscalers, ...this.#caches.values()].map((part) => part.stopped()));
  }

  /** From now on these are compared; resolves when every kind of theirs that is served has been read. */
  async track({ wanted, context }: Tracked): Promise<void> {
    this.#tracked = wanted;
    this.#index();
    for (const one of wanted) this.#place(one);
    this.#comparison.begin(context, this.#wanted);
    const kindKeys = [...new Set(wanted.map(({ kindKey }) => kindKey))];
    // only now: what is read before anything is wanted is not compared
    await this.#cache(DEFINITIONS, { ...CustomResourceDefinition, schema: LiveObject }).tried();
    this.#brought = new Set(wanted.flatMap(({ defines }) => defines));
    const awaited = new Set(wanted.filter(({ builder, expected }) => builder.judge || expected).map(({ kindKey }) => kindKey));
    this.#plain = new Set(kindKeys.filter((key) => !awaited.has(key)));
    await this.look(kindKeys);
    await this.readNew();
    // a kind that cannot be listed costs its own objects: they are told where they are applied
    const areRead = new AbortController();
    void Promise.all(kindKeys.map((key) => this.read(key).catch(() => false))).then(() => areRead.abort());
    const until = this.#signal ? AbortSignal.any([this.#signal, areRead.signal]) : areRead.signal;
    await pause(this.#surroundings.clock ?? systemClock, LONGEST_READ_MS, until);
  }

  /** Looks for kinds that are not served, unless the release itself brings them. True when one of them was found. */
  look(kindKeys: readonly string[]): Promise<boolean> {
    return this.kinds.look(kindKeys.filter((key) => !this.#brought.has(key)));
  }

  /** Why a kind is not served, where another server is to serve it; undefined where nothing says so, or the release itself brings it. */
  async whyAway(kindKey: string): Promise<string | undefined> {
    return this.#brought.has(kindKey) ? undefined : this.kinds.whyAway(kindKey);
  }

  /** True when a namespace is known not to be there. */
  lacksNamespace(name: string): boolean {
    const namespaces = this.#caches.get(NAMESPACES);
    return namespaces?.present === true && !namespaces.get({ name }) && !this.#written.has(`${NAMESPACES}|${name}`);
  }

  /**
   * These kinds are served because of a definition that was just made, so there are no objects of theirs: reading them is put off until
   * `readNew`, because a server that is busy with definitions takes long for it. Kinds that are waited for are read as ever.
   */
  expectNone(kindKeys: readonly string[]): void {
    const added = kindKeys.filter((key) => this.#plain.has(key) && !this.#caches.has(key));
    if (added.length > 0 && this.#new.size === 0)
      void pause(this.#surroundings.clock ?? systemClock, NEW_KINDS_MS, this.#signal)
        .then(() => !this.#signal?.aborted && this.readNew())
        // the reading was stopped
        .catch(() => undefined);
    for (const key of added) this.#new.add(key);
  }

  /** Reads the objects of these new kinds, by default of all, from now on. True when there was such a kind. */
  async readNew(kindKeys: readonly string[] = [...this.#new]): Promise<boolean> {
    const read = kindKeys.filter((key) => this.#new.delete(key));
    for (const key of read) await this.read(key).catch(() => false);
    return read.length > 0;
  }

  /** Forgets written objects that went before a list of their kind, because no watch tells of that. */
  #forgetLost(kindKey: string): void {
    for (const [key, written] of this.#written) {
      const wanted = this.#wanted.get(key);
      if (wanted?.kindKey === kindKey && this.#isLost(wanted, written)) this.#lose(wanted);
    }
  }

  /** True where the kind was seen up to a later version, and the object is not there. Versions that are no numbers tell nothing. */
  #isLost(wanted: Wanted, { metadata }: KubeObject): boolean {
    const cache = this.#caches.get(wanted.kindKey);
    return cache !== undefined && !cache.get(wanted.ref) && Number(cache.resourceVersion) >= Number(metadata.resourceVersion);
  }

  #lose(wanted: Wanted): void {
    this.#written.delete(wanted.key);
    this.#wakeups.wake(wanted.key);
    this.#onDrift(wanted);
  }

  /**
   * Begins to read the objects of a kind that is served. True when they are read by now, or known to be none.
   * @throws what the first list fails with; it is tried again
   */
  async read(kindKey: string): Promise<boolean> {
    const kind = this.kinds.find(kindKey);
    if (!kind) return false;
    if (this.#new.has(kindKey)) return true;
    const cache = this.#cache(kindKey, kind);
    await cache.tried();
    for (let looks = 0; !cache.present && looks < SERVED_LOOKS && !this.#signal?.aborted; looks++) {
      cache.recheck();
      await pause(this.#surroundings.clock ?? systemClock, SERVED_LOOK_MS, this.#signal);
    }
    return cache.present;
  }

  /** The object as it is known; undefined where there is none. */
  get(wanted: Wanted): LiveObject | undefined {
    this.#place(wanted);
    return this.#written.get(wanted.key) ?? this.#caches.get(wanted.kindKey)?.get(wanted.ref);
  }

  /** The scope under which a kind is served decides an object's key, not the namespace of its manifest. */
  #place(wanted: Wanted): void {
    const kind = this.kinds.find(wanted.kindKey);
    if (kind && wanted.place(kind)) this.#index();
  }

  #index(): void {
    this.#wanted = new Map(this.#tracked.map((one) => [one.key, one]));
    this.#last = lastOfEach(this.#tracked);
  }

  /**
   * Decides what is done with a manifest: of several of one object the last counts.
   * Earlier ones only create the object, for the files between; undefined when they or the last ask for a deletion.
   */
  intentOf(wanted: Wanted): Intent | undefined {
    const last = this.#last.get(wanted.identity) ?? wanted;
    const own = intentOf(wanted.manifest);
    if (last === wanted) return own;
    return own === 'delete' || intentOf(last.manifest) === 'delete' ? undefined : 'create-only';
  }

  /** True where the manifest asks for a deletion; false for one whose wish cannot be read, which is told where it is applied. */
  deletes(wanted: Wanted): boolean {
    const isLast = (this.#last.get(wanted.identity) ?? wanted) === wanted;
    return isLast && wanted.manifest.annotations?.[ManifestAnnotation.delete] === 'true';
  }

  /** Error for which it is not known if a kind is served; undefined where it is known. */
  whyUnknown(kindKey: string): unknown {
    return this.#brought.has(kindKey) ? undefined : this.kinds.whyUnknown(kindKey);
  }

  /** Relation of the object to its manifest; undefined before they are compared. */
  standing(wanted: Wanted): Standing | undefined {
    return this.#comparison.standing(wanted, this.get(wanted));
  }

  /** The object to be written over a live one, with what is somebody else's as the live one has it. @throws UpdateError for what cannot be */
  merge(wanted: Wanted, object: Json): Json {
    return this.#comparison.merge(wanted, object);
  }

  /** Asks for the autoscalers where a live object has other replicas than its manifest. True when one has set them, and nothing else differs. */
  async isScaled(wanted: Wanted, object: KubeObject): Promise<boolean> {
    if (!this.#comparison.differsInScale(wanted, object)) return false;
    if (!(await this.#autoscalers.isScaled(wanted.manifest))) return false;
    const { kind } = wanted.manifest;
    this.#surroundings.logger?.debug({ kind, object: wanted.objectKey }, 'Leaving the replicas of an object to its autoscaler');
    this.take(wanted, object, 'read');
    return this.standing(wanted) !== 'different';
  }

  /** An autoscaler has let go of an object: it is read, because what it has got may no longer be somebody else's. */
  #doubt(target: string): void {
    for (const wanted of this.#wanted.values()) {
      const { seen } = scaledKeyOf(wanted.manifest) === target ? (this.get(wanted) ?? {}) : {};
      if (!seen) continue;
      Object.assign(seen, { standing: 'different', whole: undefined });
      this.#wakeups.wake(wanted.key);
      this.#onDrift(wanted);
    }
  }

  /** Takes an object as a request of ours brought it: until the watch tells of it, or of a later one. */
  take(wanted: Wanted, object: KubeObject, how: 'read' | 'written'): void {
    const live = this.#comparison.compare(wanted, object, { before: this.get(wanted), isAnswer: how === 'written' });
    const told = this.#caches.get(wanted.kindKey)?.get(wanted.ref);
    // an answer may come after what was told since; a write that changed nothing has the version that was told
    if (this.#isLost(wanted, live)) this.#lose(wanted);
    else if (!told || !isLater(told, live)) this.#written.set(wanted.key, live);
  }

  /** An object is what the server makes of its manifest: from now on it is compared exactly. */
  settle(wanted: Wanted, object: Json): void {
    this.#comparison.keepNormal(wanted, object);
    const { seen } = this.get(wanted) ?? {};
    // in its place, so that no cache keeps the whole object; one that has changed meanwhile is looked at again
    if (seen?.whole === object) Object.assign(seen, { standing: 'same', whole: undefined });
  }

  /** The object is gone, as a request of ours said. */
  forget({ key }: Wanted): void {
    this.#written.delete(key);
  }

  #cache(kindKey: string, kind: Resource<LiveObject>): WatchCache<LiveObject> {
    const known = this.#caches.get(kindKey);
    if (known) return known;
    for (const wanted of this.#tracked) if (wanted.kindKey === kindKey) this.#place(wanted);
    const cache = new WatchCache(this.#client, kind, {
      ...this.#surroundings,
      optional: true,
      absentRetryMs: ABSENT_RETRY_MS,
      transform: (object) => this.#trim(kindKey, object),
      onListed: () => this.#forgetLost(kindKey),
    });
    this.#caches.set(kindKey, cache);
    cache.subscribe((change) => this.#changed(kindKey, change));
    if (this.#signal) cache.start(this.#signal);
    void cache.synced().then(
      () => this.#wakeups.wake(kindServed(kindKey)),
      // the reading was stopped
      () => undefined,
    );
    return cache;
  }

  #trim(kindKey: string, object: LiveObject): LiveObject {
    if (kindKey === DEFINITIONS) this.kinds.define(object.metadata.name, definedKinds(object));
    const wanted = this.#wanted.get(`${kindKey}|${refKey(object.metadata)}`);
    return wanted ? this.#comparison.compare(wanted, object, { before: this.get(wanted) }) : { metadata: plainMetadata(object) };
  }

  #changed(kindKey: string, change: Change<LiveObject>): void {
    const key = `${kindKey}|${refKey(change.object.metadata)}`;
    const written = this.#written.get(key);
    if (written && !isLater(written, change.object)) this.#written.delete(key);
    this.#wakeups.wake(key);
    if (kindKey === DEFINITIONS && change.type === 'deleted') this.kinds.define(change.object.metadata.name, new Map());
    const wanted = this.#wanted.get(key);
    if (wanted && (change.type === 'deleted' || (this.get(wanted)?.seen?.standing ?? 'same') !== 'same')) this.#onDrift(wanted);
  }
}
