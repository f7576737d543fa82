import { Annotation, type KubeObject, Label, type Ref, type Resource, refKey } from '@flotilla/api';
import type { StatusAnswer, WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
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
import {
  answerStatus,
  answerWhy,
  desiredWorkName,
  foldWaits,
  Inquiry,
  NOTHING_OF_CLUSTERS,
  ROLLOUT_WORK,
  resourceName,
  type Seen,
  type UpgradeFacts,
} from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
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
  readonly #sets;
  readonly #notes = new Set<string>();

  constructor({ client, hubNamespace, now = Date.now }: FactOptions) {
    this.#now = now;
    this.#client = client;
    this.#hubNamespace = hubNamespace;
    const setOf = <T extends KubeObject>(kind: Resource<T>) => new ReadSet(kind.kind, (ref) => client.get(kind, ref));
    this.#sets = {
      clusters: setOf(ManagedCluster),
      upgrades: setOf(ClusterGroupUpgrade),
      policies: setOf(Policy),
      works: setOf(ManifestWork),
      approvals: new ReadSet('ManagedClusterActions of', ({ name }) => this.#listApprovals(name)),
      leases: setOf(Lease),
      hub: new ReadSet(Lease.kind, (ref) => this.#readHubLease(ref)),
    };
  }

  /** Sentences on objects that could not be read. */
  get notes(): string[] {
    return [...this.#notes];
  }

  /** Makes an answer about an upgrade, and reads what it lacks until it lacks nothing. */
  async answer<T>(upgrade: ClusterGroupUpgrade, make: (facts: UpgradeFacts) => T): Promise<T> {
    for (let round = 1; ; round += 1) {
      const made = make(this.#facts(upgrade));
      const reads = Object.values(this.#sets).flatMap((set) => set.takeReads((what, error) => this.#note(what, error)));
      if (reads.length === 0 || round >= MOST_ROUNDS) return made;
      await mapConcurrently(reads, AT_ONCE, (read) => read());
    }
  }

  /** Reads all clusters by one list instead of one by one. @param upgrades those that are asked about */
  async readClusters(upgrades: readonly ClusterGroupUpgrade[]): Promise<void> {
    const annotations = new Set([Annotation.hold, ...upgrades.flatMap(annotationsEdited)]);
    try {
      const { items } = await this.#client.list(ManagedCluster, { transform: (cluster) => trimCluster(cluster, annotations) });
      for (const cluster of items) this.#sets.clusters.add(cluster.metadata, cluster);
    } catch (error) {
      this.#note('ManagedClusters', error);
    }
  }

  /** The same facts without anything that is read for a single cluster: for answers about thousands. */
  async answerBare<T>(upgrade: ClusterGroupUpgrade, make: (facts: UpgradeFacts) => T): Promise<T> {
    const cluster = (name: string) => this.#sets.clusters.known({ name });
    return this.answer(upgrade, (facts) => make({ ...facts, ...NOTHING_OF_CLUSTERS, cluster }));
  }

  /** Forgets what may have changed, before the next look. */
  forget(): void {
    for (const set of Object.values(this.#sets)) set.clear();
    this.#notes.clear();
  }

  #facts(upgrade: ClusterGroupUpgrade): UpgradeFacts {
    return {
      upgrade,
      now: this.#now(),
      hub: this.#sets.hub.want({ namespace: this.#hubNamespace, name: HUB_LEASE }),
      cluster: (name) => this.#sets.clusters.want({ name }),
      agentLease: (namespace) => this.#sets.leases.want({ namespace, name: AGENT_LEASE }),
      upgradeAt: (ref) => {
        const seen = this.#sets.upgrades.want(ref);
        return seen.kind === 'read' && seen.object ? { kind: 'read', object: whole(seen.object) } : seen;
      },
      policyCopy: ({ namespace, name }, cluster) => this.#sets.policies.want({ namespace: cluster, name: `${namespace}.${name}` }),
      policy: (ref) => this.#sets.policies.want(ref),
      approvals: (name) => this.#sets.approvals.want({ name }),
      work: (namespace, template) => {
        const name = resourceName(upgrade, desiredWorkName(upgrade.metadata.namespace ?? '', template), '');
        return this.#sets.works.want({ namespace, name });
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

const SKIPPED = { kind: 'skipped' } as const;

/** Objects of one kind, or lists of them: those that were read, and those that somebody asked for since. */
class ReadSet<T> {
  readonly #kind: string;
  readonly #readOne: (ref: Ref) => Promise<T | undefined>;
  readonly #seen = new Map<string, Seen<T>>();
  readonly #wanted = new Map<string, Ref>();

  constructor(kind: string, readOne: (ref: Ref) => Promise<T | undefined>) {
    this.#kind = kind;
    this.#readOne = readOne;
  }

  /** The object, which is read before the next answer when it is not here. */
  want(ref: Ref): Seen<T> {
    const key = refKey(ref);
    if (!this.#seen.has(key)) this.#wanted.set(key, ref);
    return this.known(ref);
  }

  /** The object as far as it is here. */
  known(ref: Ref): Seen<T> {
    return this.#seen.get(refKey(ref)) ?? SKIPPED;
  }

  add(ref: Ref, object: T): void {
    this.#seen.set(refKey(ref), { kind: 'read', object });
  }

  clear(): void {
    this.#seen.clear();
    this.#wanted.clear();
  }

  /** Reads of what somebody asked for. @param explain says why one failed */
  takeReads(explain: (what: string, error: unknown) => string): (() => Promise<void>)[] {
    const wanted = [...this.#wanted];
    this.#wanted.clear();
    return wanted.map(([key, ref]) => async () => {
      try {
        this.#seen.set(key, { kind: 'read', object: await this.#readOne(ref) });
      } catch (error) {
        this.#seen.set(key, { kind: 'unread', why: explain(`${this.#kind} ${key}`, error) });
      }
    });
  }
}

/** Answers by one list of clusters, the hub's Lease and blocking upgrades, and reads no single cluster. */
export async function askStatus(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<StatusAnswer> {
  await store.readClusters([upgrade]);
  return judgeStatus(store, upgrade);
}

/** The same by clusters that were read before, or by none. */
export async function judgeStatus(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<StatusAnswer> {
  const answer = await store.answerBare(upgrade, (facts) => answerStatus(facts));
  return { ...answer, notes: store.notes };
}

/** Asks why one cluster waits, or the upgrade as a whole. */
export async function askOne(store: FactStore, upgrade: ClusterGroupUpgrade, cluster: string | undefined): Promise<WhyAnswer> {
  const answer = await store.answer(upgrade, (facts) => answerWhy(new Inquiry(facts), upgrade, cluster, []));
  return { ...answer, notes: store.notes };
}

/** Causes of all by what one list shows; the evidence of single objects for one of them alone. */
export async function askAll(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<WhyAllAnswer> {
  await store.readClusters([upgrade]);
  const waits = await store.answerBare(upgrade, (facts) => foldWaits(new Inquiry(facts)));
  return { upgrade: refKey(upgrade.metadata), waits, first: await askOne(store, upgrade, undefined) };
}
