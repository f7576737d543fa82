import type { UpgradeConfig, UpgradeConfigSpec } from '@flotilla/api/managed';
import { beginningOf, isSameBeginning, isUnderWay } from '@flotilla/upgrade';

/** Act that makes an UpgradeConfig match the wish of its provider. */
export type RefreshPlan =
  | { readonly act: 'nothing' }
  /** It differs, but the cluster was sent: the end of its upgrade comes first. */
  | { readonly act: 'later'; readonly current: UpgradeConfig }
  | { readonly act: 'create' | 'change'; readonly spec: UpgradeConfigSpec }
  | { readonly act: 'remove' };

/**
 * Decides it (spec/muo 3.2): the object stays, with its history, and is not changed from when the cluster was sent until the upgrade has ended. Pure.
 * @param isSent the cluster was sent where the upgrade of an UpgradeConfig goes
 */
export function planRefresh(
  current: UpgradeConfig | undefined,
  wanted: UpgradeConfigSpec | undefined,
  isSent: (upgradeConfig: UpgradeConfig) => boolean,
): RefreshPlan {
  if (!current) return wanted ? { act: 'create', spec: wanted } : { act: 'nothing' };
  if (wanted && isSame(current.spec, wanted)) return { act: 'nothing' };
  if (isUnderWay(current) && isSent(current)) return { act: 'later', current };
  return wanted ? { act: 'change', spec: wanted } : { act: 'remove' };
}

const isSame = (a: UpgradeConfigSpec, b: UpgradeConfigSpec): boolean =>
  isSameBeginning(beginningOf(a), beginningOf(b)) &&
  a.PDBForceDrainTimeout === b.PDBForceDrainTimeout &&
  (a.capacityReservation ?? false) === (b.capacityReservation ?? false);
