/** Limits of the fleet for the page: the answer of `flotilla limits`, as much of it as a page shows. */
import type { LimitRow, LimitsAnswer, LimitsLane, LimitUse, RateUse } from '@flotilla/api/answers';
import { exact } from '@flotilla/rollout';
import { z } from 'zod';
import { nextStep } from '../complain.ts';
import { answerLimitsBy, clustersInWords, doesInWords } from '../limits/ask.ts';
import type { AskDeps } from './asks.ts';

/** Limits that a page shows at most: a label may have as many values as there are clusters. */
const MOST_ROWS = 100;
/** Upgrades that a row names. */
const MOST_NAMED = 3;
/** Notes of an answer. */
const MOST_NOTES = 3;

/** Wish of a page. */
export const LaneWish = z.object({ most: z.coerce.number().int().min(1).max(MOST_ROWS) });

/** Limits with whoever shares them, by what is watched; the ConfigMap is read each time. What cannot be read, or is not known yet, is no empty answer. */
export async function askLane(
  { client, hubNamespace, sources }: Pick<AskDeps, 'client' | 'hubNamespace' | 'sources'>,
  { most }: z.output<typeof LaneWish>,
): Promise<LimitsLane> {
  try {
    return laneOf(await answerLimitsBy(client, hubNamespace, () => sources.fleet()), most);
  } catch (error) {
    return { rows: [], more: 0, problem: null, unknown: nextStep(error), notes: [] };
  }
}

/** The answer as rows: limits of all clusters, then those by label, the ones that hold back most first. */
export function laneOf({ limits, rates, problem, notes }: LimitsAnswer, most: number): LimitsLane {
  const uses = [...limits, ...rates].toSorted((a, b) => rankOf(a) - rankOf(b) || pressureOf(b) - pressureOf(a));
  return {
    rows: uses.slice(0, most).map(rowOf),
    more: Math.max(uses.length - most, 0),
    problem: problem ?? null,
    unknown: null,
    notes: notes.slice(0, MOST_NOTES),
  };
}

const rankOf = ({ label }: LimitUse | RateUse): number => (label === undefined ? 0 : 1);

/** Part of a limit that is taken, and wanted beside. Who waits under a limit that has places left waits for another. */
function pressureOf(use: LimitUse | RateUse): number {
  if (!('activity' in use)) return (use.taken.value ?? 0) / use.most;
  const { taken, waiting, most } = use;
  return (taken >= most ? taken + waiting : taken) / most;
}

function rowOf(use: LimitUse | RateUse): LimitRow {
  const { taken, waiting, waiters, holders } =
    'activity' in use ? { ...use, taken: exact(use.taken) } : { taken: use.taken, waiting: 0, waiters: [], holders: use.pullers };
  return {
    clusters: clustersInWords(use),
    may: doesInWords(use),
    isRate: !('activity' in use),
    most: use.most,
    taken,
    waiting,
    holders: holders.slice(0, MOST_NAMED),
    moreHolders: Math.max(holders.length - MOST_NAMED, 0),
    waiters: waiters.slice(0, MOST_NAMED),
    moreWaiters: Math.max(waiters.length - MOST_NAMED, 0),
  };
}
