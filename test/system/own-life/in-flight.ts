/** Upgrades in every state in which a hub can be replaced, how each goes on, and what each has done. */
import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { SimulatedSpokes, SpokeFaults } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { createTemplate } from '../../fixtures/work-templates.ts';

type Upgrade = ClusterGroupUpgrade;
type Patch = Readonly<Record<string, unknown>>;

/** One kind of state. */
interface Kind {
  readonly spec?: Patch;
  readonly annotations?: Readonly<Record<string, string>>;
  /** On both clusters, from before the upgrade. */
  readonly faults?: SpokeFaults;
  /** Whether the upgrade has come to where it is to be found. */
  readonly isThere: (upgrade: Upgrade) => boolean;
  /** Merged into the upgrade so that it goes on; default: nothing. */
  readonly release?: Patch;
  /** Clusters that have got their work by then. */
  readonly begun: number;
  /** Reason of `Succeeded` in the end; default: it never ends. */
  readonly end?: 'Completed' | 'Failed';
}

const reasonOf = ({ status }: Upgrade, type: string): string | undefined => findCondition(status?.conditions, type)?.reason;
const precaching = { preCaching: true, preCachingConfigRef: { name: 'config', namespace: 'default' } };
const enabled: Patch = { spec: { enable: true } };
/** Far enough for any run. */
const LATER_MS = 6 * 3_600_000;
const laterWindow = () => ({ 'flotilla.io/window-start': new Date(Date.now() + LATER_MS).toISOString().replace(/\.\d+Z$/, 'Z') });

const KINDS: Readonly<Record<string, Kind>> = {
  waits: {
    spec: { enable: false },
    isThere: (upgrade) => reasonOf(upgrade, 'Progressing') === 'NotEnabled',
    release: enabled,
    begun: 0,
    end: 'Completed',
  },
  windowed: {
    annotations: laterWindow(),
    isThere: (upgrade) => reasonOf(upgrade, 'Progressing') === 'WaitingForWindow',
    release: { metadata: { annotations: { 'flotilla.io/window-start': null } } },
    begun: 0,
    end: 'Completed',
  },
  // Until the one that waits has ended.
  blocked: { isThere: (upgrade) => reasonOf(upgrade, 'Progressing') === 'IncompleteBlockingCR', begun: 0, end: 'Completed' },
  paused: {
    annotations: { 'flotilla.io/paused': 'drain' },
    isThere: (upgrade) => reasonOf(upgrade, 'Paused') === 'Paused',
    release: { metadata: { annotations: { 'flotilla.io/paused': null } } },
    begun: 0,
    end: 'Completed',
  },
  refused: { isThere: (upgrade) => reasonOf(upgrade, 'ClustersSelected') === 'ClusterNotFound', begun: 0 },
  precaches: {
    spec: precaching,
    faults: { jobsHeld: true },
    isThere: ({ status }) => Object.values(status?.precaching?.status ?? {}).join() === 'Active,Active',
    begun: 0,
    end: 'Completed',
  },
  cached: {
    spec: { ...precaching, enable: false },
    isThere: (upgrade) => reasonOf(upgrade, 'PrecachingSuceeded') === 'PrecachingCompleted',
    release: enabled,
    begun: 0,
    end: 'Completed',
  },
  runs: {
    faults: { workNeverAvailable: true },
    isThere: ({ status }) =>
      Object.values(status?.status.currentBatchRemediationProgress ?? {}).some(({ state }) => state === 'InProgress'),
    begun: 1,
    end: 'Completed',
  },
  done: { isThere: (upgrade) => upgrade.status?.status.completedAt !== undefined, begun: 2, end: 'Completed' },
  failed: {
    spec: precaching,
    faults: { failJob: true },
    isThere: (upgrade) => reasonOf(upgrade, 'Succeeded') === 'Failed' && upgrade.status?.status.completedAt !== undefined,
    begun: 0,
    end: 'Failed',
  },
};

/** Upgrades of one kind that go on together. */
export interface Flight {
  readonly kind: string;
  /** Name of the upgrade and of its template. */
  readonly name: string;
  /** Upgraded one after the other. */
  readonly clusters: readonly [string, string];
  readonly of: Kind;
}

/** So many upgrades of each kind; the clusters are of each upgrade alone. */
export const flightsOf = (each: number): Flight[] =>
  Object.entries(KINDS).flatMap(([kind, of]) =>
    Array.from({ length: each }, (_, index) => {
      const name = `${kind}-${index}`;
      return { kind, name, clusters: [`${name}-a`, `${name}-b`] as const, of };
    }),
  );

/** Clusters that are registered: those of an upgrade that is refused are not. */
export const clustersOf = (flights: readonly Flight[]): string[] =>
  flights.flatMap(({ kind, clusters }) => (kind === 'refused' ? [] : clusters));

const refOf = (name: string) => ({ namespace: 'default', name });
/** The upgrade as it is stored. */
export const readUpgrade = (client: Client, { name }: Pick<Flight, 'name'>) => client.get(ClusterGroupUpgrade, refOf(name));

/** Creates the upgrades and waits until each is where it is to be found. */
export async function takeOff(flights: readonly Flight[], { client, spokes }: { client: Client; spokes: SimulatedSpokes }): Promise<void> {
  for (const { kind, name, clusters, of } of flights) {
    for (const cluster of kind === 'refused' ? [] : clusters) spokes.setFaults(cluster, of.faults ?? {});
    await createTemplate(client, name);
    await client.create(ClusterGroupUpgrade, {
      metadata: { ...refOf(name), ...(of.annotations && { annotations: of.annotations }) },
      spec: {
        clusters: [...clusters],
        manifestWorkTemplates: [name],
        remediationStrategy: { maxConcurrency: 1, timeout: 240 },
        ...(kind === 'blocked' && { blockingCRs: [refOf(name.replace(kind, 'waits'))] }),
        ...of.spec,
      },
    });
  }
  for (const flight of flights) await untilThere(flight, client);
}

/** Waits until an upgrade is in the state of its kind. */
async function untilThere(flight: Flight, client: Client): Promise<void> {
  let last: Upgrade | undefined;
  const isThere = async () => {
    last = await readUpgrade(client, flight);
    return last !== undefined && flight.of.isThere(last);
  };
  await eventually(isThere, () => `${flight.name} to be where it belongs: ${JSON.stringify(last?.status)}`, 90_000);
}

/** Lets upgrades go on, and waits until each has ended as it should. */
export async function land(flights: readonly Flight[], { client, spokes }: { client: Client; spokes: SimulatedSpokes }): Promise<void> {
  for (const { name, clusters, of } of flights) {
    if (of.end === 'Completed') for (const cluster of clusters) spokes.setFaults(cluster, {});
    if (of.release) await client.patch(ClusterGroupUpgrade, refOf(name), of.release, { type: 'merge' });
  }
  for (const flight of flights) await untilEnded(flight, client);
}

async function untilEnded(flight: Flight, client: Client): Promise<void> {
  if (!flight.of.end) return untilThere(flight, client);
  let last: Upgrade | undefined;
  const hasEnded = async () => {
    last = await readUpgrade(client, flight);
    return last !== undefined && reasonOf(last, 'Succeeded') === flight.of.end && last.status?.status.completedAt !== undefined;
  };
  await eventually(hasEnded, () => `${flight.name} to be ${flight.of.end}: ${JSON.stringify(last?.status)}`, 120_000);
}

/** What of an upgrade must be the same whoever leads: where it is and how its clusters have ended. */
export async function stateOf(flight: Flight, client: Client) {
  const upgrade = await readUpgrade(client, flight);
  const { conditions = [], clusters = [], remediationPlan, precaching: jobs, status } = upgrade?.status ?? {};
  return {
    name: flight.name,
    conditions: conditions.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`).toSorted(),
    clusters: clusters.map(({ name, state }) => `${name} ${state}`).toSorted(),
    plan: remediationPlan,
    jobs: jobs?.status,
    batch: status?.currentBatch,
    completedAt: status?.completedAt,
  };
}

/** How many Jobs each cluster of an upgrade is to have had. */
export const jobsOf = ({ of }: Flight): number => (of.spec && 'preCaching' in of.spec ? 1 : 0);
