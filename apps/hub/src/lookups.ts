/** Questions that several rooms ask the caches, and the server where a cache may be behind. */
import { type KubeObject, refKey } from '@flotilla/api';
import type { Placement } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { Coalescer } from '@flotilla/pace';
import { decidingLabels, judgeTenancy, type PolicyWays, type Tenancy } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import {
  BY_NAMESPACE,
  BY_PLACEMENT,
  BY_SPOKE,
  BY_WORK_AND_CLUSTER,
  BY_WORK_AND_UPGRADE,
  type HubCaches,
  isOfUpgrade,
  type TenancyCaches,
  type TransportCaches,
} from './caches.ts';
import { withWholeStatus } from './trims.ts';

/** Finds the hub objects of one spoke's part of one upgrade. @param key by `spokeKey` */
export function hubObjectsOf({ views, actions, works }: TransportCaches, key: string) {
  return { views: views.byIndex(BY_SPOKE, key), actions: actions.byIndex(BY_SPOKE, key), works: works.byIndex(BY_SPOKE, key) };
}

/** Finds the hub objects of one kind of job for one upgrade, on all clusters. */
export function objectsOf({ views, actions, works }: TransportCaches, work: string, upgradeUid: string): KubeObject[] {
  const key = `${work}/${upgradeUid}`;
  return [views, actions, works].flatMap((cache): KubeObject[] => cache.byIndex(BY_WORK_AND_UPGRADE, key));
}

/** Finds the hub objects of one kind of job for one cluster, of all upgrades. */
export function objectsIn({ views, actions, works }: TransportCaches, work: string, cluster: string): KubeObject[] {
  const key = `${work}/${cluster}`;
  return [views, actions, works].flatMap((cache): KubeObject[] => cache.byIndex(BY_WORK_AND_CLUSTER, key));
}

/** Clusters in the decisions of a Placement; undefined where the API server serves no decisions. */
export const decidedBy =
  ({ decisions }: Pick<HubCaches, 'decisions'>) =>
  ({ metadata }: Placement): ReadonlySet<string> | undefined =>
    decisions.present
      ? new Set(decisions.byIndex(BY_PLACEMENT, refKey(metadata)).flatMap(({ status }) => status?.decisions?.map(nameOf) ?? []))
      : undefined;

const nameOf = ({ clusterName }: { readonly clusterName: string }): string => clusterName;

/** Objects that tell for which clusters a policy is meant, and which kind of them the API server does not serve. */
export function waysFrom(
  { bindings, placements, decisions }: Pick<HubCaches, 'bindings' | 'placements' | 'decisions'>,
  cluster: PolicyWays['cluster'],
  now: number,
): PolicyWays {
  return {
    bindings: (namespace) => bindings.byIndex(BY_NAMESPACE, namespace),
    placement: (ref) => {
      const placement = placements.get(ref);
      return placement && !isOfUpgrade(placement) ? placement : undefined;
    },
    decisions: (ref) => decisions.byIndex(BY_PLACEMENT, refKey(ref)),
    cluster,
    unserved: [bindings, placements, decisions].find(({ present }) => !present)?.kind.kind,
    now,
  };
}

/** Reach of a namespace's upgrades; undefined on a hub without tenants. */
export function tenancyOf(namespace: string, caches: TenancyCaches): Tenancy | undefined {
  const { clusterSets, clusterSetBindings } = caches;
  if (!clusterSets || !clusterSetBindings) return undefined;
  const bindings = clusterSetBindings.byIndex(BY_NAMESPACE, namespace);
  return judgeTenancy(namespace, bindings, (name) => clusterSets.get({ name }), decidingLabelsOf(caches));
}

/** Labels that no upgrade may edit; undefined on a hub without tenants. */
export const decidingLabelsOf = ({ clusterSets, clusterSetBindings }: TenancyCaches): ReadonlySet<string> | undefined =>
  clusterSets && clusterSetBindings && decidingLabels(clusterSetBindings.list(), (name) => clusterSets.get({ name }));

/** Reads the stored upgrade; undefined when it is gone or replaced by another one of its name. */
export type ReadStored = (upgrade: ClusterGroupUpgrade) => Promise<ClusterGroupUpgrade | undefined>;

/** Reads the upgrade from the server, because a step by a stale watch would repeat finished work. Requests during a read share the next read. */
export function createReadStored(client: Client): ReadStored {
  const reads = new Coalescer(async (upgrades: readonly ClusterGroupUpgrade[]) => {
    const refs = new Map(upgrades.map(({ metadata }) => [refKey(metadata), metadata]));
    const found = await Promise.all([...refs.values()].map(({ namespace, name }) => client.get(ClusterGroupUpgrade, { namespace, name })));
    return new Map(found.flatMap((upgrade) => (upgrade ? [[upgrade.metadata.uid, withWholeStatus(upgrade)]] : [])));
  });
  return async (upgrade) => (await reads.submit(upgrade)).get(upgrade.metadata.uid);
}
