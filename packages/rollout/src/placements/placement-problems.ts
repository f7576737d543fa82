/** Placements of a running upgrade that select too few clusters or too many: told by cluster, with the reason of the placement controller. */
import { findCondition, refKey } from '@flotilla/api';
import { type ManagedCluster, PLACEMENT_SATISFIED, type Placement } from '@flotilla/api/ocm';
import { findNameLabelProblem, NAME_LABEL } from '../clusters/managed-cluster.ts';
import type { Sightings } from '../upgrade/first-seen.ts';
import { formatSlice } from '../values/formats.ts';
import type { Wait } from '../waits/wait.ts';
import { selectedBy } from './placements.ts';

/** Time that a placement controller has to select a cluster before a message says that it has not. */
const PATIENCE_MS = 10_000;
/** Most clusters that are named in one message, and most Placements. */
const MOST_CLUSTERS = 10;
const MOST_PLACEMENTS = 5;

/** Facts that are looked at beside the Placements. */
export interface PlacementFacts {
  readonly cluster: (name: string) => ManagedCluster | undefined;
  /** Clusters in the PlacementDecisions of a Placement; undefined: the API server serves no decisions. */
  readonly decided: (placement: Placement) => ReadonlySet<string> | undefined;
  /** The cluster is in the plan of the upgrade. */
  readonly isPlanned: (cluster: string) => boolean;
  /** Only what the reference tells, and at once. */
  readonly talmStrict: boolean;
  /** Since when clusters are not selected. Losing it delays a message by ten seconds. */
  readonly sightings: Pick<Sightings, 'since'>;
  readonly now: number;
}

/** Problems of Placements for condition Progressing. */
interface PlacementReport {
  /** Clusters are not selected. */
  readonly problem: string | undefined;
  /** The same as waits of these clusters; empty in strict mode. */
  readonly unplaced: ReadonlyMap<string, Wait>;
  /** A cluster is selected that must not be: nothing is enforced before it has left. */
  readonly surplus: Wait | undefined;
  /** When there may be another problem, milliseconds since the epoch. */
  readonly lookAt: number | undefined;
}

/**
 * Judges the Placements of an upgrade. Told at once are a namespace without a binding of a cluster set, in the words of the reference, a server without
 * decisions, and a stranger in a decision. Everything else is told once it has lasted for ten seconds.
 */
export function judgePlacements(placements: readonly Placement[], facts: PlacementFacts): PlacementReport {
  const sorted = placements.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  const unbound = sorted.map(describeUnbound).find((message) => message !== undefined);
  if (facts.talmStrict) return { problem: unbound, unplaced: new Map(), surplus: undefined, lookAt: undefined };
  const late: string[] = [];
  const unplaced = new Map<string, Wait>();
  let surplus: Wait | undefined;
  let lookAt = Number.POSITIVE_INFINITY;
  for (const placement of sorted) {
    const lasting = (what: string) => {
      const lateAt = facts.sightings.since(`placement ${placement.metadata.uid}/${what}`) + PATIENCE_MS;
      if (facts.now < lateAt) lookAt = Math.min(lookAt, lateAt);
      return facts.now >= lateAt;
    };
    const decided = facts.decided(placement);
    const members = selectedBy(placement);
    if (members.length > 0 && !decided) late.push(`${UNSERVED.says}; nothing is enforced. To correct it: ${UNSERVED.fix}.`);
    for (const cluster of decided ? [] : members) unplaced.set(cluster, UNSERVED);
    const waiting = members.filter((cluster) => decided && !decided.has(cluster) && lasting(cluster));
    if (waiting.length > 0) late.push(describe(placement, waiting, facts));
    for (const cluster of waiting) unplaced.set(cluster, unplacedBy(placement, cluster, facts));
    const wanted = new Set(members);
    const beyond = [...(decided ?? [])].filter((cluster) => !wanted.has(cluster));
    // A cluster of an earlier batch is in the decisions until the controller has seen the change.
    const [stranger] = beyond.filter((cluster) => !facts.isPlanned(cluster) || lasting(cluster));
    if (stranger !== undefined) surplus ??= describeSurplus(placement, stranger, facts);
  }
  const told = late.length > 0 ? [...new Set(late)].slice(0, MOST_PLACEMENTS).join(' ') : undefined;
  return { problem: unbound ?? told, unplaced, surplus, lookAt: Number.isFinite(lookAt) ? lookAt : undefined };
}

const UNSERVED: Wait = {
  cause: 'placement',
  says: 'The API server does not serve PlacementDecision (cluster.open-cluster-management.io/v1beta1), so nobody knows which clusters a Placement selects',
  fix: 'install the definitions and the placement controller of the cluster framework',
};

/** @param stranger a cluster that is selected beyond the members */
function describeSurplus(placement: Placement, stranger: string, { cluster }: PlacementFacts): Wait {
  const value = cluster(stranger)?.metadata.labels?.[NAME_LABEL];
  const isNamesake = value !== undefined && value !== stranger;
  const why = isNamesake
    ? `whose label ${NAME_LABEL} is ${JSON.stringify(value)}, the name of another cluster`
    : 'which is no member of the batch that runs';
  return {
    cause: 'placement',
    says: `${titleOf(placement)} selects ManagedCluster ${stranger}, ${why}; its policy is enforced on nobody`,
    fix: isNamesake
      ? `set the label ${NAME_LABEL} of ManagedCluster ${stranger} to ${JSON.stringify(stranger)}`
      : `find who writes PlacementDecisions of this Placement, and remove ${stranger} from them`,
    of: { object: `ManagedCluster ${stranger}`, field: `metadata.labels.${NAME_LABEL}`, value: value ?? '' },
  };
}

const SET = 'make the clusters members of a ManagedClusterSet that has a ManagedClusterSetBinding in the policy namespace';
/** Fixes by the reason that the placement controller gives. */
const FIXES: Readonly<Record<string, string>> = {
  NoManagedClusterSetBindings: SET,
  NoIntersection: SET,
  AllManagedClusterSetsEmpty: SET,
  NoManagedClusterMatched: `${SET}; see that each has its own name in the label "name", and no taint but those of a cluster that is away`,
};
/** Why a Placement does not select its members. */
function findReason(placement: Placement, { decided }: PlacementFacts): { readonly why: string; readonly fix: string } {
  const { status } = placement;
  const misconfigured = findCondition(status?.conditions, 'PlacementMisconfigured');
  const because = ({ reason, message }: { readonly reason: string; readonly message: string }) => `${reason}: ${message}`;
  if (misconfigured?.status === 'True') return { why: because(misconfigured), fix: 'correct the field that the condition names' };
  const satisfied = findCondition(status?.conditions, PLACEMENT_SATISFIED);
  if (!satisfied) return { why: 'no status: the placement controller has not answered', fix: 'see whether it runs' };
  if (satisfied.status !== 'True') return { why: because(satisfied), fix: FIXES[satisfied.reason] ?? SET };
  const why = `not selected: it selects ${decided(placement)?.size} of ${selectedBy(placement).length}`;
  return { why, fix: FIXES.NoManagedClusterMatched ?? SET };
}

const titleOf = ({ metadata: { name, namespace } }: Placement): string => `Placement "${name}" in namespace "${namespace}"`;

function describe(placement: Placement, clusters: readonly string[], facts: PlacementFacts): string {
  const rest = clusters.length - MOST_CLUSTERS;
  const named = `${formatSlice(clusters.slice(0, MOST_CLUSTERS))}${rest > 0 ? ` and ${rest} more` : ''}`;
  const labels = clusters.map((each) => findNameLabelProblem(each, facts.cluster(each))).find((problem) => problem !== undefined);
  const { why, fix } = findReason(placement, facts);
  return `${titleOf(placement)} does not select clusters ${named}: ${why}. To correct it: ${labels ?? fix}.`;
}

function unplacedBy(placement: Placement, cluster: string, facts: PlacementFacts): Wait {
  const { why, fix } = findReason(placement, facts);
  return {
    cause: 'placement',
    says: `${titleOf(placement)} does not select ${cluster}: ${why}`,
    fix: findNameLabelProblem(cluster, facts.cluster(cluster)) ?? fix,
    of: { object: `Placement ${refKey(placement.metadata)}`, field: 'status.conditions', value: why.split(':', 1)[0] ?? '' },
  };
}

function describeUnbound({ metadata, status }: Placement): string | undefined {
  const satisfied = findCondition(status?.conditions, PLACEMENT_SATISFIED);
  if (satisfied?.status !== 'False' || satisfied.reason !== 'NoManagedClusterSetBindings') return undefined;
  return `Placement "${metadata.name}" in namespace "${metadata.namespace}" cannot select clusters: ${satisfied.message}. Create a ManagedClusterSetBinding for the "default" ManagedClusterSet in the policy namespace.`;
}
