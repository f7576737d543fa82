import { isSameJson } from '@flotilla/api';
import type { UpgradeConfig, UpgradeConfigSpec } from '@flotilla/api/managed';

/** What makes an UpgradeConfig what its provider wants. */
export type RefreshPlan =
  | { readonly act: 'nothing' }
  /** It differs, but its upgrade is under way: the end of that comes first. */
  | { readonly act: 'later' }
  | { readonly act: 'create' | 'change'; readonly spec: UpgradeConfigSpec }
  | { readonly act: 'remove' };

/** Decides it (spec/muo 3.2): the object stays, with its history, and is never changed while its upgrade is under way. Pure. */
export function planRefresh(current: UpgradeConfig | undefined, wanted: UpgradeConfigSpec | undefined): RefreshPlan {
  if (!current) return wanted ? { act: 'create', spec: wanted } : { act: 'nothing' };
  if (wanted && isSame(current.spec, wanted)) return { act: 'nothing' };
  if (isUnderWay(current)) return { act: 'later' };
  return wanted ? { act: 'change', spec: wanted } : { act: 'remove' };
}

/** The upgrade that it asks for has begun and not ended. */
export const isUnderWay = ({ spec, status }: UpgradeConfig): boolean =>
  status?.history?.find(({ version = '' }) => version === (spec.desired.version ?? ''))?.phase === 'Upgrading';

/** The same moment may be written in several ways. */
function isSame(a: UpgradeConfigSpec, b: UpgradeConfigSpec): boolean {
  return isSameJson(normalised(a), normalised(b));
}

const normalised = ({ upgradeAt, capacityReservation = false, ...rest }: UpgradeConfigSpec) => {
  const moment = Date.parse(upgradeAt);
  return { ...rest, capacityReservation, upgradeAt: Number.isNaN(moment) ? upgradeAt : moment };
};
