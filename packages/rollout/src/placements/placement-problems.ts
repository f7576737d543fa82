/** Placements of a running upgrade that do not select their clusters: told by cluster, with the reason of the placement controller. */
import { findCondition } from '@flotilla/api';
import { type ManagedCluster, PLACEMENT_SATISFIED, type Placement } from '@flotilla/api/ocm';
import { findNameLabelProblem } from '../clusters/name-label.ts';
import type { Sightings } from '../upgrade/first-seen.ts';
import { formatSlice } from '../values/go-format.ts';
import { selectedBy } from './placements.ts';

/** Time that a placement controller has to select a cluster before a message says that it has not. */
const PATIENCE_MS = 10_000;
/** Most clusters that are named in one message, and most Placements. */
const MOST_CLUSTERS = 10;
const MOST_PLACEMENTS = 5;

/** Facts that are looked at beside the Placements. */
export interface PlacementFacts {
  readonly cluster: (name: string) => ManagedCluster | undefined;
  /** The copy of the policy of this Placement is enforced on the cluster: so it is selected. */
  readonly isEnforced: (placement: Placement, cluster: string) => boolean;
  /** Only what the reference tells, and at once. */
  readonly talmStrict: boolean;
  /** Since when clusters are not selected. Losing it delays a message by ten seconds. */
  readonly sightings: Pick<Sightings, 'since'>;
  readonly now: number;
}

/** Problem of Placements for condition Progressing, and the time at which there may be another, milliseconds since the epoch. */
interface PlacementReport {
  readonly problem: string | undefined;
  readonly lookAt: number | undefined;
}

/**
 * Judges the Placements of an upgrade. A namespace without a binding of a cluster set is told at once, in the words of the reference;
 * everything else once a cluster has not been selected for ten seconds.
 */
export function judgePlacements(placements: readonly Placement[], facts: PlacementFacts): PlacementReport {
  const { talmStrict, sightings, now } = facts;
  const sorted = placements.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  const unbound = sorted.map(describeUnbound).find((message) => message !== undefined);
  if (talmStrict) return { problem: unbound, lookAt: undefined };
  const late: string[] = [];
  let lookAt = Number.POSITIVE_INFINITY;
  for (const placement of sorted) {
    const waiting = unselected(placement, facts).filter((cluster) => {
      const lateAt = sightings.since(`placement ${placement.metadata.uid}/${cluster}`) + PATIENCE_MS;
      if (now < lateAt) lookAt = Math.min(lookAt, lateAt);
      return now >= lateAt;
    });
    if (waiting.length > 0) late.push(describe(placement, waiting, facts));
  }
  const told = late.length > 0 ? late.slice(0, MOST_PLACEMENTS).join(' ') : undefined;
  return { problem: unbound ?? told, lookAt: Number.isFinite(lookAt) ? lookAt : undefined };
}

/** Members that the placement controller has not chosen, as far as its answer tells. */
function unselected(placement: Placement, { isEnforced }: PlacementFacts): readonly string[] {
  const members = selectedBy(placement);
  if (members.length === 0 || findReason(placement) !== undefined) return members;
  const { numberOfSelectedClusters: selected = members.length } = placement.status ?? {};
  return selected >= members.length ? [] : members.filter((cluster) => !isEnforced(placement, cluster));
}

const SET = 'make the clusters members of a ManagedClusterSet that has a ManagedClusterSetBinding in the policy namespace';
/** Fixes by the reason that the placement controller gives. */
const FIXES: Readonly<Record<string, string>> = {
  NoManagedClusterSetBindings: SET,
  NoIntersection: SET,
  AllManagedClusterSetsEmpty: SET,
  NoManagedClusterMatched: `${SET}; see that each has its own name in the label "name", and no taint but those of a cluster that is away`,
};
const UNANSWERED = { reason: 'no status', message: 'the placement controller has not answered', fix: 'see whether it runs' };

/** Why a Placement selects nobody; undefined when it selects somebody. */
function findReason({ status }: Placement): { readonly reason: string; readonly message: string; readonly fix: string } | undefined {
  const misconfigured = findCondition(status?.conditions, 'PlacementMisconfigured');
  if (misconfigured?.status === 'True') return { ...misconfigured, fix: 'mend what it names' };
  const satisfied = findCondition(status?.conditions, PLACEMENT_SATISFIED);
  if (!satisfied) return UNANSWERED;
  return satisfied.status === 'True' ? undefined : { ...satisfied, fix: FIXES[satisfied.reason] ?? SET };
}

function describe(placement: Placement, clusters: readonly string[], { cluster }: PlacementFacts): string {
  const { name, namespace } = placement.metadata;
  const rest = clusters.length - MOST_CLUSTERS;
  const named = `${formatSlice(clusters.slice(0, MOST_CLUSTERS))}${rest > 0 ? ` and ${rest} more` : ''}`;
  const labels = clusters.map((each) => findNameLabelProblem(each, cluster(each))).find((problem) => problem !== undefined);
  const found = findReason(placement) ?? {
    reason: 'not selected',
    message: `it selects ${placement.status?.numberOfSelectedClusters} of ${selectedBy(placement).length}`,
    fix: FIXES.NoManagedClusterMatched ?? SET,
  };
  return `Placement "${name}" in namespace "${namespace}" does not select clusters ${named}: ${found.reason}: ${found.message}. To mend it: ${labels ?? found.fix}.`;
}

function describeUnbound({ metadata, status }: Placement): string | undefined {
  const satisfied = findCondition(status?.conditions, PLACEMENT_SATISFIED);
  if (satisfied?.status !== 'False' || satisfied.reason !== 'NoManagedClusterSetBindings') return undefined;
  return `Placement "${metadata.name}" in namespace "${metadata.namespace}" cannot select clusters: ${satisfied.message}. Create a ManagedClusterSetBinding for the "default" ManagedClusterSet in the policy namespace.`;
}
