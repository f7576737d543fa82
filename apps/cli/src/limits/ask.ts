import type { LimitsAnswer, LimitUse, RateUse } from '@flotilla/api/answers';
import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, explain, FleetLimitsName } from '@flotilla/api/ran';
import { answerLimits, type LimitsFacts, readLimits } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { whole } from '../hub/upgrades.ts';

/** All upgrades, and the labels of all clusters. */
export type FleetFacts = Omit<LimitsFacts, 'limits'>;

/**
 * Reads the ConfigMap, and says how its limits are used.
 * @param namespace of the hub
 * @param read asked where there are limits alone
 */
export async function answerLimitsBy(
  client: Client,
  namespace: string,
  read: () => FleetFacts | Promise<FleetFacts>,
): Promise<LimitsAnswer> {
  const name = FleetLimitsName.configMap;
  const found = await client.get(ConfigMap, { namespace, name });
  const { limits, problem } = found ? readLimits(found.data ?? {}) : {};
  const about = { configMap: `${namespace}/${name}`, isThere: found !== undefined };
  if (problem !== undefined) {
    const says = `${explain('InvalidLimits', problem)}, and without any nothing begins`;
    return { ...about, problem: says, limits: [], rates: [], notes: [] };
  }
  if (!limits) return { ...about, limits: [], rates: [], notes: [] };
  return { ...about, ...answerLimits({ limits, ...(await read()) }) };
}

/** The same with lists of all upgrades and clusters. */
export const askLimits = (client: Client, namespace: string): Promise<LimitsAnswer> =>
  answerLimitsBy(client, namespace, async () => {
    const [clusters, upgrades] = await Promise.all([
      client.list(ManagedCluster, { transform: ({ metadata: { name, labels } }) => ({ metadata: { name, labels } }) }),
      client.list(ClusterGroupUpgrade, { transform: withoutSpec }),
    ]);
    return { upgrades: upgrades.items, clusters: labelsOf(clusters.items), now: Date.now() };
  });

/** Labels of clusters by their name. */
export const labelsOf = (clusters: readonly ManagedCluster[]): FleetFacts['clusters'] =>
  new Map(clusters.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));

const withoutSpec = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade => {
  const { metadata, status } = whole(upgrade);
  return { metadata, status };
};

/** The clusters of a limit in words. */
export function clustersInWords({ label, value }: Pick<LimitUse, 'label' | 'value'>): string {
  if (label === undefined) return 'all';
  return value === '' ? `without ${label}` : `${label}=${value}`;
}

const DOES = { pulling: 'pre-cache', upgrading: 'be upgraded' } as const;

/** The activity of a limit in words. */
export const doesInWords = (use: LimitUse | RateUse): string => ('activity' in use ? DOES[use.activity] : 'pull a second');
