import type { KubeObject, Resource } from '@flotilla/api';
import type { EventRecorder } from './event-recorder.ts';
import type { EventSubject } from './event-recorder-object.ts';
import type { ReconcilerOptions, Trouble } from './reconciler.ts';

/** Failures in a row that end before anybody reads of them. */
const PASSING_TRIES = 4;

/** True for a trouble that its object's users should hear of, once while it stays the same. */
const isWorthTelling = ({ kind, attempt, times }: Trouble): boolean =>
  kind === 'terminal' ? times === 1 : kind === 'retry' && attempt === PASSING_TRIES + 1;

/** An object as events are about it; undefined for one that is gone. */
export function eventSubject(kind: Resource, object: KubeObject): EventSubject;
export function eventSubject(kind: Resource, object: KubeObject | undefined): EventSubject | undefined;
export function eventSubject({ apiVersion, kind }: Resource, object: KubeObject | undefined): EventSubject | undefined {
  if (!object) return undefined;
  const { namespace, name, uid, resourceVersion } = object.metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

/** For keys that are no object of anybody's: what went wrong is logged, and that is all. */
export const logOnly: ReconcilerOptions['onTrouble'] = async () => {};

/**
 * Reports what keeps a reconcile from ending well as a Warning event about its object: at once when it is terminal, else from the fifth failure
 * in a row on.
 * @param subjectOf the object of a key; undefined: nobody is to be told
 */
export const troubleEvents =
  (recorder: Pick<EventRecorder, 'record'>, subjectOf: (key: string) => EventSubject | undefined): ReconcilerOptions['onTrouble'] =>
  async (key, trouble) => {
    const regarding = isWorthTelling(trouble) ? subjectOf(key) : undefined;
    if (regarding) recorder.record({ type: 'Warning', reason: 'ReconcileFailed', action: 'Reconciling', note: trouble.message, regarding });
  };
