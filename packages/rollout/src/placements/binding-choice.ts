/** Judges by the clusters that a placement controller chose if a Placement may be bound. Pure. */
import { findCondition } from '@flotilla/api';
import { PLACEMENT_SATISFIED, type Placement } from '@flotilla/api/ocm';

/** A Placement of an upgrade beside what was decided for it. */
interface Choice {
  /** Clusters that it shall select. */
  readonly members: readonly string[];
  /** Clusters that it selects. */
  readonly selected: readonly string[];
  /** Clusters in its PlacementDecisions; undefined: the API server serves none. */
  readonly decided: ReadonlySet<string> | undefined;
  /** Clusters of the upgrade whose part has ended without success; a decision may hold them for a moment longer. */
  readonly left: ReadonlySet<string>;
  /** Another ManagedCluster has this name in the label that Placements select by. */
  readonly hasNamesake: (cluster: string) => boolean;
}

/**
 * True while a binding may stay. A change of all members takes it away first. A new member joins a bound Placement only if no other cluster answers to
 * its name.
 */
export function mayStayBound({ members, selected, decided, left, hasNamesake }: Choice): boolean {
  const before = new Set(selected);
  if (!members.some((cluster) => before.has(cluster))) return false;
  if (members.some((cluster) => !before.has(cluster) && hasNamesake(cluster))) return false;
  return [...(decided ?? [])].every((cluster) => before.has(cluster) || left.has(cluster));
}

/**
 * True when the decisions are exactly the members. Members that the controller has refused delay nobody else: the others are bound once its status
 * counts as many clusters as its decisions have, and no other cluster answers to a missing name.
 */
export function mayBind({ members, decided, hasNamesake }: Choice, placement: Placement): boolean {
  if (!decided || decided.size === 0) return false;
  const wanted = new Set(members);
  if (![...decided].every((cluster) => wanted.has(cluster))) return false;
  const missing = members.filter((cluster) => !decided.has(cluster));
  return missing.length === 0 || (isSettled(placement, decided.size) && !missing.some(hasNamesake));
}

const isSettled = ({ status }: Placement, decided: number): boolean =>
  status?.numberOfSelectedClusters === decided && findCondition(status.conditions, PLACEMENT_SATISFIED)?.status === 'True';
