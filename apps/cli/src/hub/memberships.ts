import { refKey } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, isForbidden } from '@flotilla/runtime';
import { whole } from './upgrades.ts';

/** Lists the upgrades without an end that name a cluster or plan it, as `namespace/name`; undefined where they may not be seen. */
export async function upgradesWith(client: Client, cluster: string): Promise<string[] | undefined> {
  const names: string[] = [];
  const transform = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade => {
    const { metadata, spec, status } = whole(upgrade);
    const isMember = spec?.clusters?.includes(cluster) || status?.remediationPlan?.some((batch) => batch.includes(cluster));
    if (isMember && status?.status?.completedAt === undefined) names.push(refKey(metadata));
    return { metadata };
  };
  try {
    await client.list(ClusterGroupUpgrade, { transform });
    return names;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
