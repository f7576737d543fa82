/** Plans the removal of an ended upgrade's pins from a spoke: a job while the spoke is marked, then nothing of it. Pure. */
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { UpgradeIdentity } from '@flotilla/rollout';
import type { Write } from '../../../../writes/apply.ts';
import { HELD_AFTER_MS } from '../../../leftovers.ts';
import { SpokePlan, type SpokeReach } from '../../../transports/port/port.ts';
import { contextOf } from '../../observe.ts';
import { planStep } from '../../plan.ts';
import type { UnpinJob } from './job.ts';
import { markPatch, type OwedPins } from './mark.ts';

/** Jobs that are tried for one mark: the first may meet what the upgrade's own clean-up has not removed yet. */
const MOST_TRIES = 3;

/** One spoke, and the pins of one ended upgrade. */
export interface ObservedPins {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly managed: ManagedCluster | undefined;
  /** Undefined when its pins are not owed, or not any more. */
  readonly owed: OwedPins | undefined;
  readonly reach: SpokeReach;
  /** The hub has objects of the job. */
  readonly hasBegun: boolean;
  /** The hub lets the cluster in, nobody holds it, and its agent answers. */
  readonly isThere: boolean;
  /** Since when its agent answers, milliseconds since the epoch. */
  readonly thereSince: number;
  /** The hub still has objects of the same upgrade's pre-caching there. */
  readonly isPrecached: boolean;
}

/** Missing writes for the pins of one upgrade on one spoke. */
interface PinsPlan {
  readonly writes: readonly Write[];
  /** Milliseconds since the epoch. */
  readonly at?: number | undefined;
  /** No other upgrade may work on the spoke meanwhile. */
  readonly holds: boolean;
  /** Reason for which pins may be left on the spoke; the mark goes all the same. */
  readonly failure?: string | undefined;
}

/**
 * Goes on from what is observed alone, from the beginning each time. A verdict takes the mark away, and the next plan cleans up; a failure leaves it for
 * another try.
 * @param isFree no other upgrade works on the spoke
 */
export function planPins(
  observed: ObservedPins,
  job: UnpinJob,
  { isFree, now }: { readonly isFree: boolean; readonly now: number },
): PinsPlan {
  const { upgrade, cluster, managed, owed, reach, hasBegun, isThere, isPrecached, thereSince } = observed;
  const { workload, context } = contextOf(job, { uid: upgrade.uid, inputs: owed, clusters: 1 }, { cluster, managed, now });
  const task = { job, upgrade, cluster, workload, digest: context.digest };
  if (!managed) {
    const plan = new SpokePlan(now);
    reach.effects(task, '', plan).drop();
    return { writes: plan.writes, holds: false };
  }
  if (!isThere && !hasBegun) return { writes: [], holds: false };
  if (!isFree || isPrecached) return { writes: [], at: now + HELD_AFTER_MS, holds: hasBegun };
  const mark = (next: OwedPins | null, failure?: string) => ({ writes: [markPatch(managed, upgrade.uid, next)], holds: true, failure });
  if (owed?.isCleaning && !hasBegun) return mark({ ...owed, isCleaning: false });
  const isStopping = !owed || owed.isCleaning;
  // The time of an absence does not count.
  const since = reach.spoke.since === undefined ? now : Math.max(reach.spoke.since, thereSince);
  const deadlineAt = reach.spoke.available ? since + workload.patienceMs : Number.POSITIVE_INFINITY;
  const begun = { current: 'PreparingToStart', stored: 'PreparingToStart' } as const;
  const step = planStep(task, begun, reach, { ...context, deadlineAt, isStopping });
  if (isStopping || !job.machine.isFinal(step.state)) return { writes: step.writes, at: step.at, holds: true };
  const failure = step.state === 'Succeeded' ? undefined : (step.message ?? step.state);
  const failures = owed.failures + 1;
  return failure !== undefined && failures < MOST_TRIES ? mark({ ...owed, failures, isCleaning: true }) : mark(null, failure);
}
