import type { UpgradeConfig, UpgradeConfigSpec } from '@flotilla/api/managed';
import { beginningOf, isSameBeginning, isUnderWay } from '@flotilla/upgrade';

/** What makes an UpgradeConfig what its provider wants. */
export type RefreshPlan =
  | { readonly act: 'nothing' }
  /** It differs, but its upgrade is under way: the end of that comes first. */
  | { readonly act: 'later'; readonly current: UpgradeConfig }
  | { readonly act: 'create' | 'change'; readonly spec: UpgradeConfigSpec }
  | { readonly act: 'remove' };

/** Decides it (spec/muo 3.2): the object stays, with its history, and is never changed while its upgrade is under way. Pure. */
export function planRefresh(current: UpgradeConfig | undefined, wanted: UpgradeConfigSpec | undefined): RefreshPlan {
  if (!current) return wanted ? { act: 'create', spec: wanted } : { act: 'nothing' };
  if (wanted && isSame(current.spec, wanted)) return { act: 'nothing' };
  if (isUnderWay(current)) return { act: 'later', current };
  return wanted ? { act: 'change', spec: wanted } : { act: 'remove' };
}

const isSame = (a: UpgradeConfigSpec, b: UpgradeConfigSpec): boolean =>
  isSameBeginning(beginningOf(a), beginningOf(b)) &&
  a.PDBForceDrainTimeout === b.PDBForceDrainTimeout &&
  (a.capacityReservation ?? false) === (b.capacityReservation ?? false);
