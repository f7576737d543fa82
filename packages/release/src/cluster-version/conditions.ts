import { withCondition } from '@flotilla/api';
import type { ConfigCondition } from '@flotilla/api/config';

/** A condition of a ClusterVersion before `conditionsAfter` adds the time at which its status last changed. */
export interface Verdict {
  readonly type: string;
  readonly status: ConfigCondition['status'];
  readonly reason?: string;
  readonly message?: string;
}

/** Types that operators of older releases wrote, and that say nothing any more. */
const obsolete: ReadonlySet<string> = new Set([
  'ImplicitlyEnabled',
  'UpgradeableAdminAckRequired',
  'UpgradeableDeletesInProgress',
  'UpgradeableClusterOperators',
  'UpgradeableClusterVersionOverrides',
  'UpgradeableUpgradeInProgress',
]);

/** Conditions after what is said anew: unsaid ones stay, removed and obsolete ones go, and a time moves with its status alone. */
export function conditionsAfter(
  before: readonly ConfigCondition[] | null | undefined,
  said: readonly Verdict[],
  { removed = [], nowMs }: { readonly removed?: readonly string[]; readonly nowMs: number },
): ConfigCondition[] {
  const kept = (before ?? []).filter(({ type }) => !obsolete.has(type) && !removed.includes(type));
  return said.reduce<ConfigCondition[]>(
    (all, { type, status, reason = '', message = '' }) => withCondition(all, { type, status, reason, message }, nowMs),
    kept,
  );
}
