import { Annotation, FlotillaError, type KubeObject, type Ref, type Resource, refKey } from '@flotilla/api';
import type { Rights } from '@flotilla/api/answers';
import { Lease } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { NOTHING_OF_CLUSTERS, type Seen, statusWrittenAt, type UpgradeFacts } from '@flotilla/rollout';
import { type Client, WatchCache } from '@flotilla/runtime';
import { HUB_LEASE, trimCluster } from '../../hub/fact-store.ts';
import { whole } from '../../hub/upgrades.ts';
import { type FleetFacts, labelsOf } from '../../limits/ask.ts';
import { Pulse } from './pulse.ts';

/** Where a viewer looks. */
export interface View {
  /** Namespace of the upgrades; all when absent. */
  readonly namespace?: string | undefined;
  /** Namespace of the hub's Lease. */
  readonly hubNamespace: string;
}

/** Where objects are watched. */
interface SourceOptions extends View {
  readonly client: Client;
  readonly rights: Rights;
}

/** Annotations of clusters that rows show. */
const READ = new Set([Annotation.hold]);

/** A failure this recent means that the watch is not back. */
const RECENT_MS = 15_000;

/** One watch for each kind that rows are made of, as far as the asker may watch it. */
export class Sources {
  readonly upgrades: WatchCache<ClusterGroupUpgrade>;
  readonly clusters: WatchCache<ManagedCluster>;
  readonly leases: WatchCache<Lease>;
  readonly rights: Rights;
  /** Key of an upgrade to when a hub wrote its status: the cache does not keep the field that says so. */
  readonly writtenAt = new Map<string, string | undefined>();
  readonly #pulse: Pulse;
  readonly #server: string;
  readonly #namespace: string | undefined;

  constructor({ client, rights, hubNamespace, namespace }: SourceOptions) {
    this.rights = rights;
    this.#namespace = namespace;
    this.#server = client.server;
    this.#pulse = new Pulse(client);
    const transform = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade => {
      this.writtenAt.set(refKey(upgrade.metadata), statusWrittenAt(upgrade));
      return whole(upgrade);
    };
    this.upgrades = new WatchCache(client, ClusterGroupUpgrade, { namespace, transform, onInvalid: ignore });
    this.clusters = new WatchCache(client, ManagedCluster, { transform: (cluster) => trimCluster(cluster, READ), onInvalid: ignore });
    const lease = { namespace: hubNamespace, fieldSelector: `metadata.name=${HUB_LEASE}` };
    this.leases = new WatchCache(client, Lease, { ...lease, onInvalid: ignore });
  }

  /** Begins to watch. */
  start(signal: AbortSignal): void {
    for (const { cache } of this.#watched) cache.start(signal);
    for (const cache of [this.upgrades, this.clusters, this.leases]) cache.subscribe(this.#pulse.hear);
    this.#pulse.start(signal);
  }

  /** Resolves when everything was listed once. Rejects when the watches end. */
  async synced(): Promise<void> {
    await Promise.all(this.#watched.map(({ cache }) => cache.synced()));
  }

  /** Calls the listener for each kind when it was listed once: only then is known which of its objects there are not. */
  onListed(listener: () => void): void {
    for (const { cache } of this.#watched) void cache.synced().then(listener, ignore);
  }

  /** Sentences on kinds that are not heard of now. */
  unseen(now: number): string[] {
    const { silentSince } = this.#pulse;
    if (silentSince !== undefined)
      return [
        `the API server ${this.#server} does not answer: everything is as it was at ${silentSince}. See that it runs and can be reached from here; it is asked again all the time`,
      ];
    return this.#watched.flatMap(({ cache: { kind, lastFailure, hasSynced } }) => {
      if (lastFailure && now - lastFailure.at < RECENT_MS) return [`${kind.kind} is not seen, and asked for again: ${lastFailure.reason}`];
      return hasSynced ? [] : [`${unlisted(kind)}: what needs it is not known until then`];
    });
  }

  /** The Lease of the hub, or why it is not known. */
  hub(): Seen<Lease> {
    const { lease } = this.rights;
    if (lease !== null) return { kind: 'unread', why: lease };
    if (this.#pulse.silentSince !== undefined) return { kind: 'unread', why: 'the API server does not answer' };
    return known(this.leases, this.leases.list()[0]);
  }

  /** Facts of an answer without anything that is read for a single cluster. */
  facts(upgrade: ClusterGroupUpgrade, now: number): UpgradeFacts {
    return {
      upgrade: this.#withWrittenAt(upgrade),
      now,
      hub: this.hub(),
      cluster: (name) => this.#seen(this.clusters, { name }, this.rights.spokes),
      upgradeAt: (ref) => this.#seen(this.upgrades, ref, this.rights.upgrades),
      ...NOTHING_OF_CLUSTERS,
    };
  }

  /**
   * All upgrades, and the labels of all clusters.
   * @throws FlotillaError `FLOTILLA_CONSOLE_UNSEEN` where some are not seen: whoever counts them would count too few
   */
  fleet(): FleetFacts {
    const { upgrades, spokes } = this.rights;
    const unlistedKinds = [this.upgrades, this.clusters].flatMap(({ hasSynced, kind }) => (hasSynced ? [] : [unlisted(kind)]));
    const elsewhere =
      this.#namespace === undefined
        ? []
        : [`upgrades of all namespaces share them, and this console was started with -n ${this.#namespace}: flotilla limits shows them`];
    const [why] = [upgrades, spokes].filter((lack) => lack !== null).concat(elsewhere, unlistedKinds);
    if (why !== undefined) throw new FlotillaError('FLOTILLA_CONSOLE_UNSEEN', why);
    return { upgrades: this.upgrades.list(), clusters: labelsOf(this.clusters.list()), now: Date.now() };
  }

  /** The cache drops the field by which answers see that a hub without a Lease of the usual name decides. */
  #withWrittenAt(upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade {
    const time = this.writtenAt.get(refKey(upgrade.metadata));
    if (time === undefined) return upgrade;
    return { ...upgrade, metadata: { ...upgrade.metadata, managedFields: [{ subresource: 'status', time }] } };
  }

  get #watched(): {
    readonly cache: Pick<WatchCache<KubeObject>, 'start' | 'synced' | 'hasSynced' | 'lastFailure'> & { readonly kind: Resource };
  }[] {
    const { upgrades, spokes, lease } = this.rights;
    return [
      ...(upgrades === null ? [{ cache: this.upgrades }] : []),
      ...(spokes === null ? [{ cache: this.clusters }] : []),
      ...(lease === null ? [{ cache: this.leases }] : []),
    ];
  }

  #seen<T extends KubeObject>(cache: WatchCache<T>, ref: Ref, lack: string | null): Seen<T> {
    return lack === null ? known(cache, cache.get(ref)) : { kind: 'unread', why: lack };
  }
}

/** An object of a watch; that there is none is known from the first list on. */
const known = <T extends KubeObject>({ hasSynced, kind }: WatchCache<T>, object: T | undefined): Seen<T> =>
  object || hasSynced ? { kind: 'read', object } : { kind: 'unread', why: unlisted(kind) };

const unlisted = ({ kind }: Resource): string => `${kind} has not been listed yet`;

const ignore = (): void => undefined;
