import { ClusterVersion } from '@flotilla/api/config';
import { Node } from '@flotilla/api/core';
import { Machine, MachineConfigPool, MachineSet } from '@flotilla/api/machine';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** Watch caches of the actors of a cluster. */
export interface ClusterCaches {
  readonly versions: WatchCache<ClusterVersion>;
  readonly pools: WatchCache<MachineConfigPool>;
  readonly nodes: WatchCache<Node>;
  readonly sets: WatchCache<MachineSet>;
  readonly machines: WatchCache<Machine>;
}

/** Caches of what the actors of a cluster look at. */
export const createClusterCaches = (client: Client, surroundings: WatchSurroundings): ClusterCaches => ({
  versions: new WatchCache(client, ClusterVersion, surroundings),
  pools: new WatchCache(client, MachineConfigPool, surroundings),
  nodes: new WatchCache(client, Node, surroundings),
  sets: new WatchCache(client, MachineSet, surroundings),
  machines: new WatchCache(client, Machine, surroundings),
});
