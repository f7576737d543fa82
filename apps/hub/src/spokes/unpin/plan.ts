/** Plans the removal of an ended upgrade's pins from a spoke: a job while the spoke is marked, then nothing of it. Pure. */
import { OWED_PINS } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import type { Write } from '../../writes/apply.ts';
import { planStep } from '../jobs/plan.ts';
import type { SpokeTask } from '../transports/port/port.ts';
import { SpokePlan } from '../transports/port/spoke-plan.ts';
import { cleaningOf } from '../transports/port/workload.ts';
import { type PinsSettings, pinsJob, UNPIN_DIGEST, unpinWorkload } from './job.ts';
import { markOf, type ObservedPins, type OwedPins } from './observe.ts';

/** Milliseconds until a held spoke is tried again, in case the end of what holds it goes unnoticed. */
const HELD_RECHECK_MS = 30_000;

/** Jobs that are tried for one mark: the first may meet what the upgrade's own clean-up has not removed yet. */
const MOST_TRIES = 3;

/** Missing writes for the pins of one upgrade on one spoke. */
interface PinsPlan {
  readonly writes: readonly Write[];
  /** Milliseconds since the epoch. */
  readonly requeueAt: number | undefined;
  /** No other upgrade may work on the spoke meanwhile. */
  readonly holds: boolean;
  /** Reason for which pins may be left on the spoke; the mark goes all the same. */
  readonly failure?: string | undefined;
}

const NOTHING: PinsPlan = { writes: [], requeueAt: undefined, holds: false };

/** The change of a ManagedCluster that marks it, or takes the mark away. @param owed null for no mark */
export const markPatch = ({ metadata: { name, uid } }: ManagedCluster, upgradeUid: string, owed: OwedPins | null): Write => ({
  verb: 'patch',
  kind: ManagedCluster,
  ref: { name },
  patch: { metadata: { uid, annotations: { [`${OWED_PINS}${upgradeUid}`]: owed && markOf(owed) } } },
});

/** The task of the job on one spoke. */
export function taskOf({ upgrade, cluster, managed, owed }: ObservedPins, settings: PinsSettings): SpokeTask {
  const workload =
    !owed || owed.isCleaning
      ? cleaningOf([pinsJob.names.actions.deleteNamespace])
      : unpinWorkload({ upgradeUid: upgrade.uid, managed, ...owed }, settings);
  return { job: pinsJob, upgrade, cluster, workload, digest: UNPIN_DIGEST };
}

/** @param isFree no other upgrade works on the spoke */
export function planPins(
  observed: ObservedPins,
  task: SpokeTask,
  { isFree, now }: { readonly isFree: boolean; readonly now: number },
): PinsPlan {
  const { managed, owed, hasBegun, isThere, isPrecached } = observed;
  if (!managed) return { ...NOTHING, writes: drop(observed, task, now) };
  if (!isThere && !hasBegun) return NOTHING;
  if (!isFree || isPrecached) return { ...NOTHING, requeueAt: now + HELD_RECHECK_MS, holds: hasBegun };
  if (owed?.isCleaning && !hasBegun)
    return { ...NOTHING, writes: [markPatch(managed, observed.upgrade.uid, { ...owed, isCleaning: false })], holds: true };
  return !owed || owed.isCleaning ? clean(observed, task, now) : unpin(observed, { managed, owed }, task, now);
}

function drop({ reach }: ObservedPins, task: SpokeTask, now: number): readonly Write[] {
  const plan = new SpokePlan(now);
  reach.effects(task, '', plan).drop();
  return plan.writes;
}

function clean({ reach }: ObservedPins, task: SpokeTask, now: number): PinsPlan {
  const plan = new SpokePlan(now);
  const effects = reach.effects(task, 'Succeeded', plan);
  if (effects.clean()) effects.drop();
  return { writes: plan.writes, requeueAt: plan.requeueAt, holds: true };
}

/** A cluster and its mark. */
interface Marked {
  readonly managed: ManagedCluster;
  readonly owed: OwedPins;
}

/**
 * Goes on from what is observed alone, from the beginning each time. A verdict takes the mark away, and the next plan cleans up; a failure leaves it for
 * another try.
 */
function unpin({ upgrade, cluster, reach, thereSince }: ObservedPins, { managed, owed }: Marked, task: SpokeTask, now: number): PinsPlan {
  // The time of an absence does not count.
  const since = reach.spoke.since === undefined ? now : Math.max(reach.spoke.since, thereSince);
  const isAway = !reach.spoke.available;
  const step = planStep(task, { current: 'PreparingToStart', stored: 'PreparingToStart' }, reach, {
    job: pinsJob,
    upgradeUid: upgrade.uid,
    cluster,
    now,
    deadlineAt: isAway ? Number.POSITIVE_INFINITY : since + task.workload.patienceMs,
    heldBy: undefined,
    holderEnded: false,
    trouble: undefined,
    digest: UNPIN_DIGEST,
    problem: task.workload.problem,
  });
  if (!pinsJob.machine.isFinal(step.state)) return { writes: step.writes, requeueAt: step.requeueAt, holds: true };
  const failure = step.state === 'Succeeded' ? undefined : (step.message ?? step.state);
  const failures = owed.failures + 1;
  if (failure !== undefined && failures < MOST_TRIES)
    return { ...NOTHING, writes: [markPatch(managed, upgrade.uid, { ...owed, failures, isCleaning: true })], holds: true };
  return { writes: [markPatch(managed, upgrade.uid, null)], requeueAt: undefined, holds: true, failure };
}
