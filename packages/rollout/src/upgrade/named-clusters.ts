/** Which clusters an upgrade has to do with. Pure. */
import { perObject } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';

/**
 * The clusters that an upgrade names in its spec and its stored status. Nothing is created for it elsewhere, so what bears its labels there is
 * somebody else's doing and holds nothing up. Each spoke of an upgrade that ends asks.
 */
export const namedClusters = perObject(
  ({ spec, status }: Pick<ClusterGroupUpgrade, 'spec' | 'status'>): ReadonlySet<string> =>
    new Set([
      ...(spec?.clusters ?? []),
      ...(status?.remediationPlan ?? []).flat(),
      ...(status?.clusters ?? []).map(({ name }) => name),
      ...Object.keys(status?.status.currentBatchRemediationProgress ?? {}),
      ...Object.keys(status?.precaching?.status ?? {}),
      ...Object.keys(status?.backup?.status ?? {}),
    ]),
);
