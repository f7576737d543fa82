import { Annotation, type KubeObject, Label, type Ref, type Resource } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import {
  AGENT_LEASE,
  CLUSTER_AVAILABLE,
  HUB_ACCEPTED,
  ManagedCluster,
  ManagedClusterAction,
  ManifestWork,
  Policy,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import { desiredWorkName, NOTHING_OF_CLUSTERS, ROLLOUT_WORK, resourceName, type UpgradeFacts } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
import { ReadSet } from './read-set.ts';
import { whole } from './upgrades.ts';

/** Name of the Lease of the hub (its option `--lease-name`). */
export const HUB_LEASE = 'flotilla-hub';
/** Rounds of reading for one answer: each follows one more link of the chain. */
const MOST_ROUNDS = 20;
const AT_ONCE = 8;

/** Where objects are read. */
interface FactOptions {
  readonly client: Client;
  readonly hubNamespace: string;
  /** Milliseconds since the epoch; default that of this machine. */
  readonly now?: () => number;
}

/**
 * Objects that an answer rests on. An answer is made again and again: what it asked for and was not there yet is read before the next time, so
 * that nothing is read that no link needs.
 */
export class FactStore {
  readonly #client: Client;
  readonly #hubNamespace: string;
  readonly #now: () => number;
  readonly #clusters: ReadSet<ManagedCluster>;
  readonly #upgrades: ReadSet<ClusterGroupUpgrade>;
  readonly #policies: ReadSet<Policy>;
  readonly #works: ReadSet<ManifestWork>;
  readonly #approvals: ReadSet<readonly ManagedClusterAction[]>;
  readonly #leases: ReadSet<Lease>;
  readonly #hub: ReadSet<Lease>;
  readonly #notes = new Set<string>();

  constructor({ client, hubNamespace, now = Date.now }: FactOptions) {
    this.#now = now;
    this.#client = client;
    this.#hubNamespace = hubNamespace;
    const setOf = <T extends KubeObject>(kind: Resource<T>) => new ReadSet(kind.kind, (ref) => client.get(kind, ref));
    this.#clusters = setOf(ManagedCluster);
    this.#upgrades = setOf(ClusterGroupUpgrade);
    this.#policies = setOf(Policy);
    this.#works = setOf(ManifestWork);
    this.#approvals = new ReadSet('ManagedClusterActions of', ({ name }) => this.#listApprovals(name));
    this.#leases = setOf(Lease);
    this.#hub = new ReadSet(Lease.kind, (ref) => this.#readHubLease(ref));
  }

  /** Sentences on objects that could not be read. */
  get notes(): string[] {
    return [...this.#notes];
  }

  /** Makes an answer about an upgrade, and reads what it lacks until it lacks nothing. */
  async answer<T>(upgrade: ClusterGroupUpgrade, make: (facts: UpgradeFacts) => T): Promise<T> {
    for (let round = 1; ; round += 1) {
      const made = make(this.#facts(upgrade));
      const reads = this.#sets().flatMap((set) => set.takeReads((what, error) => this.#note(what, error)));
      if (reads.length === 0 || round >= MOST_ROUNDS) return made;
      await mapConcurrently(reads, AT_ONCE, (read) => read());
    }
  }

  /** Reads all clusters by one list instead of one by one. @param upgrades those that are asked about */
  async readClusters(upgrades: readonly ClusterGroupUpgrade[]): Promise<void> {
    const annotations = new Set([Annotation.hold, ...upgrades.flatMap(annotationsEdited)]);
    try {
      const { items } = await this.#client.list(ManagedCluster, { transform: (cluster) => trimCluster(cluster, annotations) });
      for (const cluster of items) this.#clusters.add(cluster.metadata, cluster);
    } catch (error) {
      this.#note('ManagedClusters', error);
    }
  }

  /** The same facts without anything that is read for a single cluster: for answers about thousands. */
  async answerBare<T>(upgrade: ClusterGroupUpgrade, make: (facts: UpgradeFacts) => T): Promise<T> {
    const cluster = (name: string) => this.#clusters.known({ name });
    return this.answer(upgrade, (facts) => make({ ...facts, ...NOTHING_OF_CLUSTERS, cluster }));
  }

  /** Forgets what may have changed, before the next look. */
  forget(): void {
    for (const set of this.#sets()) set.clear();
    this.#notes.clear();
  }

  #sets() {
    return [this.#clusters, this.#upgrades, this.#policies, this.#works, this.#approvals, this.#leases, this.#hub];
  }

  #facts(upgrade: ClusterGroupUpgrade): UpgradeFacts {
    return {
      upgrade,
      now: this.#now(),
      hub: this.#hub.want({ namespace: this.#hubNamespace, name: HUB_LEASE }),
      cluster: (name) => this.#clusters.want({ name }),
      agentLease: (namespace) => this.#leases.want({ namespace, name: AGENT_LEASE }),
      upgradeAt: (ref) => {
        const seen = this.#upgrades.want(ref);
        return seen.kind === 'read' && seen.object ? { kind: 'read', object: whole(seen.object) } : seen;
      },
      policyCopy: ({ namespace, name }, cluster) => this.#policies.want({ namespace: cluster, name: `${namespace}.${name}` }),
      policy: (ref) => this.#policies.want(ref),
      approvals: (name) => this.#approvals.want({ name }),
      work: (namespace, template) => {
        const name = resourceName(upgrade, desiredWorkName(upgrade.metadata.namespace ?? '', template), '');
        return this.#works.want({ namespace, name });
      },
    };
  }

  /** Actions are named after InstallPlans, which only the cluster knows. */
  async #listApprovals(namespace: string): Promise<readonly ManagedClusterAction[]> {
    const { items } = await this.#client.list(ManagedClusterAction, { namespace, labelSelector: `${Label.work}=${ROLLOUT_WORK}` });
    return items;
  }

  /** In the namespace that is named, else wherever it is, as far as the asker may look. */
  async #readHubLease(ref: Ref): Promise<Lease | undefined> {
    const named = await this.#client.get(Lease, ref);
    if (named) return named;
    const { items } = await this.#client.list(Lease, { fieldSelector: `metadata.name=${ref.name}` });
    return items.toSorted((a, b) => ((a.spec?.renewTime ?? '') < (b.spec?.renewTime ?? '') ? 1 : -1))[0];
  }

  #note(what: string, error: unknown): string {
    const why = nextStep(error);
    this.#notes.add(`${what} could not be read: ${why}`);
    return why;
  }
}

/** Keeps the fields that answers and rows ask for: thousands of clusters are held at once. @param kept annotations that are asked for */
export const trimCluster = (
  { metadata: { name, uid, resourceVersion, labels, annotations = {} }, spec, status }: ManagedCluster,
  kept: ReadonlySet<string>,
): ManagedCluster => ({
  metadata: {
    name,
    uid,
    resourceVersion,
    labels,
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => kept.has(key))),
  },
  spec: spec && { hubAcceptsClient: spec.hubAcceptsClient },
  status: status && {
    conditions: status.conditions?.filter(({ type }) => type === CLUSTER_AVAILABLE || type === HUB_ACCEPTED),
    version: status.version,
  },
});

/** Annotations of clusters that the upgrade edits before it begins. */
function annotationsEdited({ spec }: ClusterGroupUpgrade): string[] {
  const { addClusterAnnotations = {}, removeClusterAnnotations = [] } = spec?.actions?.beforeEnable ?? {};
  return [...Object.keys(addClusterAnnotations), ...removeClusterAnnotations];
}
