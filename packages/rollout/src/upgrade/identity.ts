import type { ClusterGroupUpgrade } from '@flotilla/api/ran';

/** The upgrade an object belongs to. */
export interface UpgradeIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** An upgrade as labels name it. */
export const identityOf = ({ metadata }: ClusterGroupUpgrade): UpgradeIdentity => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid ?? '',
});
