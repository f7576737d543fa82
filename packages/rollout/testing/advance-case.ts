/** One pass over a rollout that is given by what is odd about it, for the tests of `advanceRollout`. */
import { ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { type Advance, type AdvanceInput, advanceRollout } from '../src/batches/advance.ts';
import { batchGatesOf } from '../src/gates/gates.ts';
import type { RolloutMode, RolloutObservation, Standing } from '../src/upgrade/model.ts';
import type { Wait } from '../src/waits/wait.ts';
import { openGates } from './gate-builders.ts';

/** Start of the rollout, epoch milliseconds. */
export const T0 = Date.parse('2026-01-01T00:00:00Z');
/** A minute in milliseconds. */
export const MINUTE = 60_000;
/** RFC 3339 to the second. */
export const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** Standings by cluster: `pending` unless said otherwise, as a list by index or the same for all. */
export type Standings = Readonly<Record<string, Standing | readonly Standing[]>>;

/** A rollout mode in which clusters stand as they are given. */
export const modeOf = (
  standings: Standings,
  { kind = 'policy', count = 1, soak = 0 }: { kind?: RolloutMode['kind']; count?: number; soak?: number } = {},
): RolloutMode => ({
  kind,
  count,
  standing: (cluster, index) => {
    const found = standings[cluster] ?? 'pending';
    return typeof found === 'string' ? found : (found[index] ?? 'pending');
  },
  name: (index) => `p${index}`,
  soakSeconds: () => soak,
  detail: (_, index) => ({ currentPolicy: { name: `p${index}`, status: 'NonCompliant' } }),
});

/** Oddities of a rollout; the rest is in order. */
export interface Given {
  readonly plan?: string[][];
  readonly standings?: Standings;
  readonly mode?: Parameters<typeof modeOf>[1];
  readonly status?: Partial<ClusterGroupUpgradeStatus['status']>;
  readonly clusters?: ClusterGroupUpgradeStatus['clusters'];
  readonly messages?: ClusterGroupUpgradeStatus['messages'];
  readonly precaching?: ClusterGroupUpgradeStatus['precaching'];
  readonly strategy?: Partial<ClusterGroupUpgradeSpec['remediationStrategy']>;
  readonly action?: string;
  readonly observed?: Partial<RolloutObservation>;
  readonly window?: AdvanceInput['gates']['window'];
  /** Annotations by which its gates are judged. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** After the start. */
  readonly minutes?: number;
  readonly talmStrict?: boolean;
  readonly otherVersion?: Wait | undefined;
}

/** One pass over the rollout that is given. */
export function advance(given: Given): Advance {
  const { plan = [['a', 'b'], ['c']], standings = {}, mode, strategy, action, observed, window = { kind: 'open' }, minutes = 0 } = given;
  const spec = ClusterGroupUpgradeSpec.parse({
    remediationStrategy: { maxConcurrency: 2, timeout: 60, ...strategy },
    batchTimeoutAction: action,
  });
  const status = ClusterGroupUpgradeStatus.parse({
    remediationPlan: plan.length > 0 ? plan : undefined,
    clusters: given.clusters,
    messages: given.messages,
    precaching: given.precaching,
    status: { startedAt: iso(T0), ...given.status },
  });
  const observation: RolloutObservation = {
    mode: modeOf(standings, mode),
    exists: () => true,
    isPrepared: () => true,
    isEdited: () => true,
    placementProblem: undefined,
    problem: () => undefined,
    ...observed,
  };
  const now = T0 + minutes * MINUTE;
  const gates = given.annotations
    ? batchGatesOf({ metadata: { name: 'u', annotations: { ...given.annotations } }, status }, { now, talmStrict: false })
    : { ...openGates, window, otherVersion: given.otherVersion };
  return advanceRollout({ spec, status, observation, gates, now, talmStrict: given.talmStrict ?? false });
}

/** Times of a rollout whose batch began so many minutes after its start. */
export const running = (batch: number, progress: Record<string, object> = {}, minutes = 0): Given['status'] => ({
  currentBatch: batch,
  currentBatchStartedAt: iso(T0 + minutes * MINUTE),
  currentBatchRemediationProgress: progress,
});
/** Progress of a cluster at this policy. */
export const at = (policyIndex: number) => ({ state: 'InProgress', policyIndex });
/** Progress of a cluster that is through. */
export const DONE = { state: 'Completed' };
/** Progress of the clusters of the batch after a pass. */
export const progressOf = (result: Advance) => result.status.currentBatchRemediationProgress;
/** Records after a pass, name and state. */
export const records = (result: Advance) => result.clusters.map(({ name, state }) => `${name} ${state}`);
/** The end that a pass came to; undefined where it goes on. */
export const verdict = ({ succeeded }: Advance) => succeeded && `${succeeded.status} ${succeeded.reason}: ${succeeded.message}`;
/** Condition Progressing after a pass. */
export const progressing = ({ progressing: p }: Advance) => `${p.status} ${p.reason}: ${p.message}`;

/** Clusters that do not comply any more, since the start. */
export const drift = { since: () => T0, known: () => undefined };
/** Words of a rollout that runs. */
export const IN_PROGRESS = 'True InProgress: Remediating non-compliant policies';
/** Words of a rollout that succeeded. */
export const COMPLIANT = 'Completed: All clusters are compliant with all the managed policies';
/** Words of a rollout whose time was over. */
export const TOO_LONG = 'False TimedOut: Policy remediation took too long';
