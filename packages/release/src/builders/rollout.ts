import { UpdateError } from '../graph/update-error.ts';
import type { ObjectVerdict } from './builder.ts';
import { type Json, objectAt, objectsAt, textAt } from './values.ts';

/** `namespace/name`, or the name alone. */
export function workloadId(live: Json): string {
  const { namespace, name } = objectAt(live.metadata);
  return textAt(namespace) === '' ? textAt(name) : `${textAt(namespace)}/${textAt(name)}`;
}

/** The condition of a type in a status. */
export const conditionOf = (status: Json, type: string): Json | undefined => objectsAt(status.conditions).find((one) => one.type === type);

/** A number of a status, 0 where there is none. */
export const numberAt = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Whether the controller of a workload has not seen its last change. */
export const isBehind = (live: Json): boolean =>
  numberAt(objectAt(live.status).observedGeneration) < numberAt(objectAt(live.metadata).generation);

/** A workload that is on its way: no failure, and nothing behind it goes on. */
export const rollingOut = (kind: string, id: string, why: string): ObjectVerdict => ({
  is: 'waiting',
  error: new UpdateError({ reason: 'WorkloadUpdating', message: `${kind} ${id} is rolling out: ${why}`, effect: 'None', names: [id] }),
});
