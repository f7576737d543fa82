/**
 * Proofs that clusters still have the images that were pulled: which job each cluster needs before its part begins, and which clusters may begin.
 * Everything follows from the stored status, the states of the jobs and the time. Pure.
 */

import { conditionTime } from '@flotilla/api';
import {
  type CacheProof,
  type ClusterGroupUpgradeStatus,
  hasFailedPrecache,
  isFinalPrecacheState,
  type PrecacheState,
} from '@flotilla/api/ran';
import { appendClusters } from '../batches/late-clusters.ts';
import { begunClusters } from '../upgrade/stage.ts';

/** The job of one cluster. */
export type ClusterProof = Omit<CacheProof, 'clusters'>;

/** State of each cluster's job; undefined: it has none. */
type StateOf = (cluster: string) => PrecacheState | undefined;

/** Input of `advanceProofs`. */
interface ProofInput {
  /** As stored. */
  readonly proofs: readonly CacheProof[] | undefined;
  readonly stateOf: StateOf;
  /** Clusters whose part is about to begin. */
  readonly wanted: Iterable<string>;
  /** The job of a cluster that is not wanted has left nothing behind. */
  readonly isOver: (cluster: string) => boolean;
  /** Clusters whose failed pull is tried again on demand. */
  readonly isRetried?: (cluster: string) => boolean;
  readonly withinMs: number;
  readonly now: number;
}

/** Jobs after a pass. */
export interface Proofs {
  /** As the status has them. */
  readonly entries: CacheProof[];
  readonly byCluster: ReadonlyMap<string, ClusterProof>;
  /** Clusters whose job is a new one: their stored state is about another. */
  readonly renewed: ReadonlySet<string>;
}

/** Reads the jobs by cluster. */
export function proofsOf(entries: readonly CacheProof[] = []): ReadonlyMap<string, ClusterProof> {
  return new Map(entries.flatMap(({ clusters, ...proof }) => clusters.map((cluster) => [cluster, proof] as const)));
}

/** Moves the job of each cluster on: a proof, after a failed proof a pull, after a pull a proof, and a new proof for one that is too old. */
export function advanceProofs({ proofs = [], stateOf, wanted, isOver, isRetried, withinMs, now }: ProofInput): Proofs {
  const before = proofsOf(proofs);
  const [latest] = proofs.toSorted((a, b) => b.number - a.number);
  const number = (latest?.number ?? 0) + 1;
  const after = new Map<string, ClusterProof>();
  const renewed = new Set<string>();
  const wants = new Set(wanted);
  for (const [cluster, proof] of before) if (wants.has(cluster) || !isOver(cluster)) after.set(cluster, proof);
  for (const cluster of wants) {
    const proof = before.get(cluster);
    const kind = nextKind(proof, stateOf(cluster), { isOld: isOld(proof, withinMs, now), isRetried: isRetried?.(cluster) ?? false });
    if (!kind) continue;
    renewed.add(cluster);
    after.set(cluster, { number, kind, at: conditionTime(now) });
  }
  return { entries: entriesOf(after, latest), byCluster: after, renewed };
}

/** The kind of a cluster's next job; undefined while the present one runs or suffices. A proof without an answer has found nothing missing. */
function nextKind(
  proof: ClusterProof | undefined,
  state: PrecacheState | undefined,
  { isOld: old, isRetried }: { readonly isOld: boolean; readonly isRetried: boolean },
): CacheProof['kind'] | undefined {
  if (state === undefined || !isFinalPrecacheState(state)) return undefined;
  if (proof?.kind === 'prove' && isUnanswered(state)) return 'prove';
  if (proof?.kind === 'prove') return hasFailedPrecache(state) ? 'pull' : old ? 'prove' : undefined;
  if (state === 'Succeeded') return 'prove';
  return proof && isRetried ? 'pull' : undefined;
}

/** True after a job whose cluster, or a node of it, stayed away. */
const isUnanswered = (state: PrecacheState | undefined): boolean => state === 'PrecacheTimeout';

/** True for a cluster that others do not wait for: it pulls again, or its proof had no answer and is made anew. */
export const isPutOff = (proof: ClusterProof | undefined, state: PrecacheState | undefined): boolean =>
  proof?.kind === 'pull' || (proof?.kind === 'prove' && isUnanswered(state));

/** A proof is as old as its request, because the clocks of clusters may be wrong. */
const isOld = (proof: ClusterProof | undefined, withinMs: number, now: number): boolean =>
  proof !== undefined && now - Date.parse(proof.at) > withinMs;

/** True while a proof lets the cluster's part begin. */
export const isProven = (
  proof: ClusterProof | undefined,
  state: PrecacheState | undefined,
  { withinMs, now }: Pick<ProofInput, 'withinMs' | 'now'>,
): boolean => proof?.kind === 'prove' && state === 'Succeeded' && !isOld(proof, withinMs, now);

/** One entry for each job and time: thousands of clusters share a few. The greatest number stays, so that none is used twice. */
function entriesOf(proofs: ReadonlyMap<string, ClusterProof>, latest: ClusterProof | undefined): CacheProof[] {
  const groups = Map.groupBy(proofs, ([, { number, kind, at }]) => `${number} ${kind} ${at}`);
  const entries = [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first ? [{ ...first[1], clusters: group.map(([cluster]) => cluster) }] : [];
  });
  const isKept = latest === undefined || entries.some(({ number }) => number >= latest.number);
  return isKept ? entries : [...entries, { ...latest, clusters: [] }];
}

/** Clusters of a rollout for which others do not wait, and those for which they do. */
interface Deferral {
  /** True for a cluster that is put off. */
  readonly isLater: (cluster: string) => boolean;
  /** True for a cluster that is not there: it cannot begin, so it waits for nobody. */
  readonly isAbsent: (cluster: string) => boolean;
  readonly canaries?: readonly string[] | undefined;
}

/**
 * Moves clusters of the running batch that are put off to a last batch, so that the clusters between do not wait for them. They stay where nobody
 * else would wait, and canaries stay, because others wait for them by intention.
 */
export function deferClusters(
  status: ClusterGroupUpgradeStatus,
  { isLater, isAbsent, canaries = [] }: Deferral,
): ClusterGroupUpgradeStatus {
  const { remediationPlan: plan = [], clusters: records = [] } = status;
  const { currentBatch = 0, currentBatchStartedAt } = status.status;
  if (currentBatchStartedAt === undefined || currentBatch < 1 || currentBatch >= plan.length) return status;
  const stays = new Set([...canaries, ...begunClusters(status)]);
  const current = plan[currentBatch - 1] ?? [];
  const late = current.filter((cluster) => !stays.has(cluster) && isLater(cluster));
  const ended = new Set(records.map(({ name }) => name));
  const isWaitedFor = plan
    .slice(currentBatch)
    .some((batch) => batch.some((cluster) => !ended.has(cluster) && !isLater(cluster) && !isAbsent(cluster)));
  if (late.length === 0 || !isWaitedFor) return status;
  const isLate = new Set(late);
  const left = plan.map((batch, index) => (index === currentBatch - 1 ? batch.filter((cluster) => !isLate.has(cluster)) : batch));
  return appendClusters({ ...status, remediationPlan: left }, late);
}
