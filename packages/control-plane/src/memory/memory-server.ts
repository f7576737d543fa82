import type { KubeObject, Ref, Resource } from '@flotilla/api';
import { type Clock, systemClock } from '@flotilla/pace';
import { type Client, createClientOver, type Exchange } from '@flotilla/runtime';
import type { ServedKind } from './built-in-kinds.ts';
import { MemoryExchange } from './exchange.ts';
import { collectGarbage } from './garbage.ts';
import type { Change } from './object-log.ts';
import { Objects, type Write } from './objects.ts';
import { UnsupportedError } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';
import { SharedReading } from './shared-reading.ts';
import { Watches } from './watches.ts';

/** Options of a server. */
interface MemoryServerOptions {
  /** CRDs that it serves from the start. */
  readonly crds?: readonly unknown[];
  /** Namespaces that it has from the start, besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /** Time of its objects and its watches; default the machine's. */
  readonly clock?: Clock;
  /** Wakes the reader of a watch that has something to read, now or later; default now. */
  readonly deliver?: (wake: () => void) => void;
  /**
   * Admission: throws what `denied` or `forbidden` return, or gives the object that is stored instead; undefined lets the write through.
   * Default: everything passes.
   */
  readonly admit?: (write: Write) => Json | undefined;
  /** Told of each change of the store, as it is stored. */
  readonly onStored?: (kind: ServedKind, change: Change) => void;
  /** Milliseconds between two bookmarks of a watch, which then also ends when its client asks for it. Default: neither happens by itself. */
  readonly bookmarkMs?: number;
  /** Changes of a kind that are kept for watches and pages; default 10 000. */
  readonly mostChanges?: number;
  /** Objects have managedFields; default true. Without, which takes a tenth of the time off, nothing can be applied. */
  readonly tracksFields?: boolean;
  /** Clients share what they read, which is frozen then; default false. */
  readonly sharesReadings?: boolean;
  /** Tells the uids of servers apart; default 1. */
  readonly seed?: number;
  /** Base URL in messages; default `https://memory.test`. */
  readonly server?: string;
}

/** Options of a client. */
interface MemoryClientOptions {
  /** Name of its writes in managedFields that name none; default `flotilla`. */
  readonly manager?: string;
  /** Carries its calls to the server and the answers back, with whatever happens on the way; default nothing. */
  readonly through?: (exchange: Exchange) => Exchange;
}

const FIRST_VERSION = 100;

/**
 * An API server in memory, as far as the project's programs use one: its answers are those of a real server, and it throws
 * UnsupportedError for what it cannot answer so. The same calls at the same times give the same uids and versions.
 */
export class MemoryServer {
  readonly #options: MemoryServerOptions;
  readonly #objects: Objects;
  readonly #watches: Watches;
  readonly #reading: SharedReading | undefined;

  constructor(options: MemoryServerOptions = {}) {
    this.#options = options;
    this.#reading = options.sharesReadings ? new SharedReading() : undefined;
    const { clock = systemClock, seed = 1, mostChanges = 10_000, deliver = (wake) => wake(), bookmarkMs } = options;
    this.#objects = new Objects({
      clock,
      seed,
      mostChanges,
      tracksFields: options.tracksFields ?? true,
      firstVersion: FIRST_VERSION,
      admit: (write) => options.admit?.(write),
      onChange: (kind, change) => {
        options.onStored?.(kind, change);
        this.#watches.changed(kind, change);
      },
    });
    this.#watches = new Watches({ objects: this.#objects, clock, deliver, bookmarkMs });
    const namespaces = this.#kind('v1', 'namespaces');
    for (const name of ['default', 'kube-system', ...(options.namespaces ?? [])])
      this.#objects.create({ kind: namespaces, namespace: '', manager: 'memory' }, { metadata: { name } });
    const definitions = this.#kind('apiextensions.k8s.io/v1', 'customresourcedefinitions');
    for (const crd of options.crds ?? []) this.#objects.create({ kind: definitions, namespace: '', manager: 'memory' }, crd);
    // A client lists before it watches: nothing of the beginning is a change.
    this.#objects.log.compact();
  }

  /** A client of this server. */
  client({ manager = 'flotilla', through = (exchange) => exchange }: MemoryClientOptions = {}): Client {
    const { server = 'https://memory.test', clock = systemClock } = this.#options;
    const openWatch = this.#watches.open.bind(this.#watches);
    const exchange = through(new MemoryExchange({ objects: this.#objects, manager, server, openWatch }));
    const watchIdleMs = this.#options.bookmarkMs === undefined ? Number.POSITIVE_INFINITY : undefined;
    // Ends of watches need no spread where nothing but order counts.
    return createClientOver({ server, exchange, clock, random: () => 0, watchIdleMs, reading: this.#reading });
  }

  /** Version of the last change. */
  get version(): string {
    return String(this.#objects.log.version);
  }

  /** The kinds that it serves now. */
  get kinds(): readonly ServedKind[] {
    return this.#objects.kinds;
  }

  /** An object as it is stored, parsed by its kind; undefined when there is none. */
  read<T extends KubeObject>(kind: Resource<T>, ref: Ref): T | undefined {
    const { namespace = '', name } = ref;
    const stored = this.#objects.find(this.#kind(kind.apiVersion, kind.plural), kind.namespaced ? namespace : '', name);
    return stored && kind.schema.parse(JSON.parse(stored.text));
  }

  /** All objects of a kind, parsed by it and sorted as a list is. */
  readAll<T extends KubeObject>(kind: Resource<T>): T[] {
    return this.#objects.list(this.#kind(kind.apiVersion, kind.plural)).map(({ text }) => kind.schema.parse(JSON.parse(text)));
  }

  /**
   * Makes an object exactly this, its status, uid and times included, as a restore of the store does; its namespace is made where it is
   * missing. It is pruned and has its defaults, and nothing judges it: it may be from before its schema was as it is.
   */
  restore<T extends KubeObject>(kind: Resource<T>, object: KubeObject): T {
    const { namespace } = object.metadata;
    const namespaces = this.#kind('v1', 'namespaces');
    if (kind.namespaced && namespace !== undefined && !this.#objects.find(namespaces, '', namespace))
      this.#objects.create({ kind: namespaces, namespace: '', manager: 'memory' }, { metadata: { name: namespace } });
    const served = this.#kind(kind.apiVersion, kind.plural);
    return kind.schema.parse(structuredClone(this.#objects.restore(served, JSON.parse(JSON.stringify(object)))));
  }

  /** Takes an object away, whatever holds it; nothing where there is none. */
  erase(kind: Resource, { namespace = '', name }: Ref): void {
    this.#objects.erase(this.#kind(kind.apiVersion, kind.plural), kind.namespaced ? namespace : '', name);
  }

  /** Forgets changes: a watch or a page of a version before gets a 410. Default: all of them. */
  compact(version?: string): void {
    this.#objects.log.compact(version === undefined ? undefined : Number(version));
  }

  /** Sends a bookmark to every watch. */
  bookmark(): void {
    this.#watches.bookmark();
  }

  /** Ends every watch, as a restart does. */
  endWatches(): void {
    this.#watches.end();
  }

  /**
   * Does what the garbage collector and the controller of namespaces do, until nothing is left to do: dependents without an owner go,
   * foreground and orphan deletions end, namespaces under deletion are emptied and go.
   */
  collectGarbage(): void {
    collectGarbage(this.#objects);
  }

  #kind(apiVersion: string, plural: string): ServedKind {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
    const kind = this.#objects.kind(group ?? '', version ?? '', plural);
    if (!kind) throw new UnsupportedError(`serve ${plural} of ${apiVersion}, whose CRD nobody gave it`);
    return kind;
  }
}
