import { refKey } from '@flotilla/api';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { failed, type Judging, type ObjectVerdict, ready, waiting } from './builder.ts';

/** A roll-out in which nothing gets on for so long is stuck, milliseconds. */
export const STUCK_MS = 30 * 60_000;

/** `namespace/name`, or the name alone. */
export function workloadId(live: Json): string {
  const { namespace, name } = objectAt(live.metadata);
  return refKey({ namespace: textAt(namespace), name: textAt(name) });
}

/** The condition of a type in a status. */
export const conditionOf = (status: Json, type: string): Json | undefined => objectsAt(status.conditions).find((one) => one.type === type);

/** A number of a status, 0 where there is none. */
export const numberAt = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Replicas that a workload is to have; a server fills in one where a manifest says nothing. */
export const wantedReplicas = (live: Json): number => {
  const { replicas } = objectAt(live.spec);
  return typeof replicas === 'number' ? replicas : 1;
};

/** A workload that cannot go on by itself. */
export const failedWorkload = (live: Json, reason: string, message: string): ObjectVerdict =>
  failed({ reason, message, names: [workloadId(live)] });

/** Replicas of a workload as its status counts them; `replaced` is how many its controller updates, by default all. */
interface Replicas {
  readonly wanted: number;
  readonly replaced?: number;
  readonly all: number;
  readonly updated: number;
  readonly available: number;
}

/** As controllers count: all wanted replicas are updated and available, and no others are left. */
export function remainingReplicas({ wanted, replaced = wanted, all, updated, available }: Replicas): string | undefined {
  if (updated < replaced) return `${updated} of ${replaced} replicas are updated`;
  if (all > wanted) return all - wanted === 1 ? '1 old replica is still there' : `${all - wanted} old replicas are still there`;
  return available < wanted ? `${available} of ${wanted} replicas are available` : undefined;
}

/** Why a roll-out has not arrived; undefined when it has. */
type Remaining = (live: Json) => string | undefined;

/** Failure that the conditions of a workload report; undefined when they report none. */
type Refused = (live: Json, id: string) => ObjectVerdict | undefined;

/**
 * Judges a workload's roll-out (spec/cvo 3.8). An update waits until the new generation has arrived, but not for a new object.
 * While reconciling, only conditions count, as in the reference: pods and nodes come and go.
 */
export function judgeRollout(kind: string, { remaining, refused }: { readonly remaining: Remaining; readonly refused?: Refused }) {
  return (live: Json, { state }: Judging): ObjectVerdict => {
    if (state === 'Initializing') return ready;
    const id = workloadId(live);
    if (objectAt(live.metadata).deletionTimestamp) return failedWorkload(live, 'WorkloadNotAvailable', `${kind} ${id} is being deleted`);
    const rollingOut = (how: string): ObjectVerdict =>
      waiting({
        reason: 'WorkloadUpdating',
        message: `${kind} ${id} is rolling out: ${how}`,
        names: [id],
        awaited: { kind, how, limitMs: STUCK_MS },
      });
    const generation = numberAt(objectAt(live.metadata).generation);
    // conditions of an earlier generation say nothing about this one
    if (numberAt(objectAt(live.status).observedGeneration) < generation && generation > 1)
      return state === 'Reconciling' ? ready : rollingOut('the change has not been seen yet');
    const failure = refused?.(live, id);
    if (failure || state === 'Reconciling' || generation <= 1) return failure ?? ready;
    const how = remaining(live);
    return how === undefined ? ready : rollingOut(how);
  };
}
