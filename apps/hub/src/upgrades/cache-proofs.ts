/** Proofs that clusters still have what was pulled, as one pass of an upgrade asks for them. Pure. */
import { type ClusterGroupUpgrade, explain, hasFailedPrecache, type PrecacheState } from '@flotilla/api/ran';
import {
  advanceProofs,
  type ClusterProof,
  findRetry,
  isProven,
  type Proofs,
  type Refusal,
  readProofWithin,
  type UpgradePlan,
  type Wait,
  waitBy,
} from '@flotilla/rollout';

/** Clusters that a pass wants proven, and how. */
export interface ProofAsk {
  /** Clusters whose part is about to begin. */
  readonly wanted: readonly string[];
  readonly withinMs: number;
  /** The part of a cluster has begun or ended: its job is kept only until its objects are gone. */
  readonly hasBegun: (cluster: string) => boolean;
  readonly isRetried: (cluster: string) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Part of its age in which a proof may be asked for before a window opens: the rest is for what it finds missing. */
const AHEAD = 0.75;

/** An ask, and when it may grow without any event. Times are milliseconds since the epoch. */
interface Asked {
  readonly ask: ProofAsk;
  readonly wakeAt: number | undefined;
}

/** Surroundings of an ask. */
interface AskContext {
  /** Refusal of the gates that the next batch has to pass. */
  readonly refusal: Refusal | undefined;
  readonly talmStrict: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Before the start: proofs for the first batch, when nothing but a window that opens soon keeps it from beginning. */
export function askBefore(upgrade: ClusterGroupUpgrade, plan: UpgradePlan, { refusal, talmStrict, now }: AskContext): Asked | undefined {
  const { withinMs } = talmStrict ? {} : readProofWithin(upgrade);
  if (withinMs === undefined || plan.stopped !== undefined) return undefined;
  const from = refusal ? opensSoonAt(refusal, withinMs) : Number.POSITIVE_INFINITY;
  const wanted = from <= now ? (plan.batches[0] ?? []) : [];
  const ask = { wanted, withinMs, hasBegun: () => false, isRetried: () => false, now };
  return { ask, wakeAt: from > now && Number.isFinite(from) ? from : undefined };
}

/** In a rollout: proofs for clusters of the batch that runs or comes next whose part has not begun. */
export function askNow(upgrade: ClusterGroupUpgrade, { refusal, talmStrict, now }: AskContext): Asked | undefined {
  const { withinMs } = talmStrict ? {} : readProofWithin(upgrade);
  if (withinMs === undefined) return undefined;
  const { remediationPlan = [], clusters = [], status: times } = upgrade.status ?? { status: {} };
  const { currentBatch = 1, currentBatchRemediationProgress: progress = {} } = times;
  const begun = new Set([...clusters.map(({ name }) => name), ...Object.keys(progress)]);
  const hasBegun = (cluster: string): boolean => begun.has(cluster);
  const from = refusal ? opensSoonAt(refusal, withinMs) : Number.NEGATIVE_INFINITY;
  const wanted = from <= now ? (remediationPlan[currentBatch - 1] ?? []).filter((cluster) => !hasBegun(cluster)) : [];
  const retry = findRetry(upgrade);
  const ask = { wanted, withinMs, hasBegun, isRetried: (cluster: string) => retry?.isMeant(cluster) ?? false, now };
  return { ask, wakeAt: from > now && Number.isFinite(from) ? from : undefined };
}

/** Time from which proofs are asked for ahead of a window; never for another gate. */
const opensSoonAt = ({ gate, wakeAt }: Refusal, withinMs: number): number =>
  gate === 'window' && wakeAt !== undefined ? wakeAt - withinMs * AHEAD : Number.POSITIVE_INFINITY;

/** Moves the proofs of an upgrade on by its stored status alone, so a pass is the same until a status confirms it. Undefined where there are none. */
export function nextProofs(upgrade: ClusterGroupUpgrade, ask: ProofAsk, holds: (cluster: string) => boolean): Proofs | undefined {
  const { status: states = {}, proofs } = upgrade.status?.precaching ?? {};
  const stateOf = (cluster: string): PrecacheState | undefined => (Object.hasOwn(states, cluster) ? states[cluster] : undefined);
  const next = advanceProofs({ ...ask, proofs, stateOf, isOver: (cluster) => ask.hasBegun(cluster) && !holds(cluster) });
  return next.entries.length > 0 || proofs ? next : undefined;
}

/** State of a pull whose cluster may have had a later job: one that is proven or restored has pulled, and only a restoration that failed takes it back. */
export const stateOfPull = (state: PrecacheState, proof: ClusterProof | undefined): PrecacheState =>
  proof && !(proof.kind === 'pull' && hasFailedPrecache(state)) ? 'Succeeded' : state;

/** Finds why a cluster must not begin; undefined with a proof, and where nothing was pulled that could be proven. */
export function findUnproven(
  cluster: string,
  { byCluster, renewed, states }: Pick<Proofs, 'byCluster' | 'renewed'> & { readonly states: Readonly<Record<string, PrecacheState>> },
  ask: Pick<ProofAsk, 'withinMs' | 'now'>,
): Wait | undefined {
  const proof = byCluster.get(cluster);
  // The state of a new job is not stored yet.
  const state = renewed.has(cluster) || !Object.hasOwn(states, cluster) ? undefined : states[cluster];
  const isPulled = proof !== undefined || Object.hasOwn(states, cluster);
  if (!isPulled || isProven(proof, state, ask)) return undefined;
  if (proof?.kind !== 'pull') return waits('waits for the proof that its images are there', cluster);
  return state !== undefined && hasFailedPrecache(state)
    ? waitBy('refused', 'CacheLost', 'what was pulled is not there any more, and pulling it again failed', { cluster })
    : waits('what was pulled is not there any more and is pulled again', cluster);
}

/** A wait that ends by itself. */
const waits = (problem: string, cluster: string): Wait => ({ cause: 'refused', says: explain('CacheUnproven', problem, { cluster }) });
