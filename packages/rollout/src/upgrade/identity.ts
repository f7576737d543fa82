import type { ClusterGroupUpgrade } from '@flotilla/api/ran';

/** Namespace and name of an upgrade. */
export interface UpgradeRef {
  readonly namespace: string;
  readonly name: string;
}

/** The upgrade an object belongs to. */
export interface UpgradeIdentity extends UpgradeRef {
  readonly uid: string;
}

/** An upgrade as labels name it. */
export const identityOf = ({ metadata }: ClusterGroupUpgrade): UpgradeIdentity => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid ?? '',
});
