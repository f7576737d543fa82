/**
 * Batches that are filled with clusters that are ready, in the order of the plan, while others still pull (annotation `flotilla.io/waves`): whether the next
 * one may begin, and its clusters. Canaries keep batches of their own, and a batch that has begun never changes. Pure.
 */
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { Refusal } from '../gates/gates.ts';
import type { Waves } from '../gates/upgrade-annotations.ts';
import { readWait, type Wait, WHOLE_UPGRADE } from '../waits/wait.ts';
import { planBatches } from './batches.ts';

/** Clusters among which the next batch is chosen, and by which rules. */
interface Ask {
  readonly waves: Waves;
  /** Clusters whose part has not begun, in the order of the plan. */
  readonly open: readonly string[];
  readonly isReady: (cluster: string) => boolean;
  /** Clusters that a batch has at most. */
  readonly size: number;
  /** Since when the batch has been filled, milliseconds since the epoch. */
  readonly since: number;
  readonly now: number;
}

/** The clusters of the next batch; or how many are ready, and when those will do (milliseconds since the epoch). */
type Filled = { readonly wave: readonly string[] } | { readonly ready: number; readonly until: number | undefined };

/** Fills a batch: all the places, or all that is left, at once; once the patience is over those that are ready, but never fewer than the least. */
function fill({ waves: { least, patienceMs }, open, isReady, size, since, now }: Ask): Filled {
  const wave = open.filter(isReady).slice(0, size);
  if (wave.length >= Math.min(size, open.length)) return { wave };
  const isEnough = wave.length >= Math.min(least, size, open.length) && wave.length > 0;
  const until = since + patienceMs;
  if (isEnough && now >= until) return { wave };
  return { ready: wave.length, until: isEnough ? until : undefined };
}

/** Before the start. */
interface FirstWave extends Omit<Ask, 'open'> {
  /** Clusters of the plan that did not fail. */
  readonly planned: readonly string[];
  readonly canaries: readonly string[];
}

/** True when a rollout may start though others still pull: with all its canaries, or with a batch. */
export function isFirstReady({ planned, canaries, ...ask }: FirstWave): boolean {
  const first = planned.filter((cluster) => canaries.includes(cluster));
  return first.length > 0 ? first.every(ask.isReady) : 'wave' in fill({ ...ask, open: planned });
}

/** Number of batches of canaries, which are never filled. */
export const canaryBatches = (plan: readonly (readonly string[])[], canaries: readonly string[] = []): number => {
  const others = plan.findIndex((batch) => batch.some((cluster) => !canaries.includes(cluster)));
  return others < 0 ? plan.length : others;
};

/** A rollout whose next batch is filled, as far as it is. */
interface Formed {
  readonly status: ClusterGroupUpgradeStatus;
  /** Says why a batch (from 1) is not begun by this pass; undefined for one that is filled, and for canaries. */
  readonly refuse: (batch: number) => Refusal | undefined;
}

/** Surroundings of a rollout that runs. */
interface Forming extends Pick<Ask, 'waves' | 'isReady' | 'now'> {
  readonly canaries: readonly string[] | undefined;
  /** Since when a batch (from 1) of which the status says no time has been filled, milliseconds since the epoch. */
  readonly since: (batch: number) => number;
  /** Nothing else keeps the next batch from beginning. */
  readonly isOpen: boolean;
}

/** Fills the batch that comes next, where one does; the others follow in their order. */
export function formWave(status: ClusterGroupUpgradeStatus, { waves, isReady, now, canaries, since, isOpen }: Forming): Formed {
  const { remediationPlan: plan = [], computedMaxConcurrency, clusters = [] } = status;
  const { currentBatch = 0, currentBatchStartedAt } = status.status;
  const isGated = currentBatch > 0 && currentBatch <= plan.length && currentBatchStartedAt === undefined;
  const kept = canaryBatches(plan, canaries);
  // A batch that ends hands over to one that the next pass fills.
  const later = (batch: number): Refusal | undefined =>
    batch <= kept || batch > plan.length ? undefined : refusal(batch, NEXT_PASS, { wakeAt: now });
  if (!isGated || currentBatch <= kept || !isOpen) return { status, refuse: later };
  const recorded = new Set(clusters.map(({ name }) => name));
  const ahead = plan.slice(currentBatch - 1).flat();
  const open = ahead.filter((cluster) => !recorded.has(cluster));
  if (open.length === 0) return { status, refuse: (batch) => (batch === currentBatch ? undefined : later(batch)) };
  const size = computedMaxConcurrency ?? open.length;
  const began = storedSince(status, currentBatch) ?? since(currentBatch);
  const filled = fill({ waves, open, isReady, size, since: began, now });
  if (!('wave' in filled)) {
    const { ready, until } = filled;
    const says = `is filled with clusters that are ready: ${ready} of ${Math.min(size, open.length)}, of ${open.length} that are left`;
    return { status, refuse: (batch) => (batch === currentBatch ? refusal(batch, says, { since: began, until }) : later(batch)) };
  }
  const first = new Set(filled.wave);
  const rest = ahead.filter((cluster) => !first.has(cluster));
  const { batches } = planBatches({ clusters: rest, maxConcurrency: size, isCompliant: () => false });
  const remediationPlan = [...plan.slice(0, currentBatch - 1), [...filled.wave], ...batches];
  // Any of them may lack its first edits or its images, whichever batch it comes to.
  const batchesAtStart = Math.min(status.batchesAtStart ?? plan.length, currentBatch - 1);
  return {
    status: { ...status, remediationPlan, batchesAtStart },
    refuse: (batch) => (batch === currentBatch || batch > remediationPlan.length ? undefined : later(batch)),
  };
}

/** Since when a batch is filled by what the last pass stored: so another leader goes on with its patience. */
function storedSince({ messages }: ClusterGroupUpgradeStatus, batch: number): number | undefined {
  const wait = readWait(messages?.[WHOLE_UPGRADE] ?? '');
  return wait?.cause === 'wave' && wait.says.startsWith(`batch ${batch} `) ? wait.since : undefined;
}

const NEXT_PASS = 'is filled with the next pass';

function refusal(batch: number, says: string, times: Pick<Wait, 'since' | 'until'> & { readonly wakeAt?: number }): Refusal {
  const { wakeAt = times.until, ...shown } = times;
  const wait: Wait = { cause: 'wave', says: `batch ${batch} ${says}`, ...shown };
  return { gate: 'wave', progressing: { status: 'True', reason: 'InProgress', message: `Batch ${batch} ${says}` }, wait, wakeAt };
}
