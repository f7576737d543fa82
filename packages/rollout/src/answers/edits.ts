/** Edits of a spec that the stored status is not about. Pure. */
import { describeUnprocessed, findCondition, isSpecUnprocessed } from '@flotilla/api';
import type { StatusAnswer } from '@flotilla/api/answers';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';

/** Edits that no hub has processed, or that came too late to count; undefined where there are none. */
export function describeEdits(upgrade: ClusterGroupUpgrade): StatusAnswer['edits'] {
  // A deletion is a generation, too, which no status is about.
  if (upgrade.metadata.deletionTimestamp !== undefined) return undefined;
  if (isSpecUnprocessed(upgrade)) return { state: 'unprocessed', says: describeUnprocessed('hub', upgrade) };
  const ignored = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.editsIgnored);
  return ignored?.status === 'True' ? { state: 'ignored', says: ignored.message } : undefined;
}
