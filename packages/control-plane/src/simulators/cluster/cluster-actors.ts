import { MachineLabel } from '@flotilla/api/machine';
import { type Client, type Clock, createLogger, type Logger, logOnly, startReconciler, systemClock, watch } from '@flotilla/runtime';
import type { ActorDeps, ClusterFaults, ClusterPace } from './actor.ts';
import { createClusterCaches } from './caches.ts';
import { playMachine, playMachineSet } from './machine-actor.ts';
import { playPool } from './pool-actor.ts';
import { type OfferedVersions, playVersion } from './version-actor.ts';

/** Options of a simulated cluster. */
export interface ClusterActorsOptions {
  /** Client of its API server. It stays the caller's: close it after `stop`. */
  readonly client: Client;
  /** Versions that each channel offers. */
  readonly offers: OfferedVersions;
  /** Default: half a second for everything, none for pools, and for drains the hour that they really have, tried all the time. */
  readonly pace?: Partial<ClusterPace>;
  /** Leave the ClusterVersion to somebody else. Default false. */
  readonly withoutVersion?: boolean;
  readonly logger?: Logger;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

/** Actors that run. */
export interface ClusterActors extends AsyncDisposable {
  /** From now on this does not happen; what is left out does. */
  setFaults(faults: ClusterFaults): void;
  stop(): Promise<void>;
}

/**
 * Plays what changes a cluster on its real API server: cluster version operator, machine config operator and the controllers of MachineSets
 * and Machines, drains included. Resolves when it watches.
 */
export async function startClusterActors(options: ClusterActorsOptions): Promise<ClusterActors> {
  const { client, offers, pace, withoutVersion = false, clock = systemClock } = options;
  const logger = options.logger ?? createLogger({ name: 'cluster-actors', level: 'silent' });
  const caches = createClusterCaches(client, { logger, clock });
  let faults: ClusterFaults = {};
  const deps: ActorDeps = {
    client,
    caches,
    clock,
    logger,
    pace: {
      controlPlaneMs: 500,
      machineMs: 500,
      nodeMs: 500,
      poolMs: 0,
      drainMs: 3_600_000,
      drainAgainMs: [50, 50],
      lookAgainMs: 50,
      ...pace,
    },
    drains: new Map(),
    faults: () => faults,
  };
  const stopping = new AbortController();
  const watched = Object.values(caches);
  for (const cache of watched) cache.start(stopping.signal);
  await Promise.all(watched.map((cache) => cache.synced()));
  const common = { logger, clock, signal: stopping.signal, backOff: { baseMs: 50, maxMs: 500 } };
  const { versions, pools, nodes, sets, machines } = caches;
  const setOfMachine = ({ object }: { object: { metadata: { labels?: Record<string, string> | undefined } } }) =>
    sets.list().filter((set) => set.metadata.name === object.metadata.labels?.[MachineLabel.machineSet]);
  const reconcilers = [
    startReconciler({
      onTrouble: logOnly,
      ...common,
      name: 'machine-set',
      for: watch(sets),
      watches: [watch(machines, { enqueue: setOfMachine })],
      reconcile: (key) => playMachineSet(deps, key),
    }),
    startReconciler({
      onTrouble: logOnly,
      ...common,
      name: 'machine',
      for: watch(machines),
      watches: [watch(sets, { enqueue: () => machines.list() })],
      concurrency: 8,
      reconcile: (key) => playMachine(deps, key),
    }),
    startReconciler({
      onTrouble: logOnly,
      ...common,
      name: 'pool',
      for: watch(pools),
      watches: [watch(versions, { enqueue: () => pools.list() }), watch(nodes, { enqueue: () => pools.list() })],
      reconcile: (name) => playPool(deps, name),
    }),
    ...(withoutVersion
      ? []
      : [
          startReconciler({
            onTrouble: logOnly,
            ...common,
            name: 'version',
            for: watch(versions),
            reconcile: (name) => playVersion(deps, offers, name),
          }),
        ]),
  ];
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([...reconcilers.map(({ stopped }) => stopped), ...watched.map((cache) => cache.stopped())]);
  };
  return {
    setFaults: (next) => {
      faults = next;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
