/**
 * One manifest of a release on its way into the cluster (spec/cvo 3.2, 3.3, 3.8).
 *
 *   unserved → missing → unread → unproven → drifted → settling → done, each as one look at the object shows it
 *
 * A look may lead anywhere, because the state before does not count. A manifest to be deleted is done once it is on its way
 * out, as far as its finalizers let it; one that fails is looked at again.
 */

/** Next thing to do about a manifest; `done` is final. */
export const ManifestState = {
  /** Its kind is to be waited for. */
  unserved: 'unserved',
  /** Its object is to be created. */
  missing: 'missing',
  /** Its object is to be read and compared. */
  unread: 'unread',
  /** Its object may be as the server makes it of the manifest, which the server is to be asked. */
  unproven: 'unproven',
  /** Its object is to be written. */
  drifted: 'drifted',
  /** Its object is to be waited for. */
  settling: 'settling',
  /** Its object is not as it should be, and may recover. */
  failing: 'failing',
  /** Its object is to be deleted. */
  unwanted: 'unwanted',
  done: 'done',
} as const;
export type ManifestState = (typeof ManifestState)[keyof typeof ManifestState];

/** Findings of one look at a manifest's object. */
export interface ManifestLook {
  readonly intent: 'apply' | 'create-only' | 'delete';
  readonly isServed: boolean;
  readonly object: 'absent' | 'unread' | 'unproven' | 'different' | 'same' | 'ending';
  /** Verdict on the object; it counts once the object is as the manifest says. */
  readonly verdict: 'ready' | 'reported' | 'waiting' | 'failed';
  /** True in an update that has not deleted the object yet. */
  readonly deletes: boolean;
}

/** Decides the next thing to do about a manifest, after one look at its object. */
export function stateOfManifest({ intent, isServed, object, verdict, deletes }: ManifestLook): ManifestState {
  if (intent === 'delete') {
    const isThere = isServed && object !== 'absent' && object !== 'ending';
    return isThere && deletes ? 'unwanted' : 'done';
  }
  if (!isServed) return 'unserved';
  if (object === 'absent') return 'missing';
  if (intent === 'create-only') return 'done';
  if (object === 'unread') return 'unread';
  if (object === 'unproven') return 'unproven';
  if (object === 'different') return 'drifted';
  if (verdict === 'failed') return 'failing';
  return verdict === 'waiting' ? 'settling' : 'done';
}

/**
 * Work of a cluster's version operator (spec/cvo 2.6, 4.4).
 *
 *   idle ─INSTALL▶ initializing ─COMPLETED▶ reconciling ⇄ updating
 *
 * A change of the wanted state turns reconciling into updating; an install or an update takes it along.
 */

/** State of the work on a release; the names are those of the reference's states, in lower case. */
export type PayloadWorkState = 'idle' | 'initializing' | 'updating' | 'reconciling';
/** Events that change the state. */
export type PayloadWorkEvent = 'INSTALL' | 'UPDATE' | 'RECONCILE' | 'CHANGED' | 'COMPLETED';

const transitions: Record<PayloadWorkState, Partial<Record<PayloadWorkEvent, PayloadWorkState>>> = {
  idle: { INSTALL: 'initializing', UPDATE: 'updating', RECONCILE: 'reconciling' },
  initializing: { COMPLETED: 'reconciling' },
  updating: { COMPLETED: 'reconciling' },
  reconciling: { CHANGED: 'updating' },
};

/** The state after an event; one that has no meaning in a state leaves it. */
export const advancePayloadWork = (state: PayloadWorkState, event: PayloadWorkEvent): PayloadWorkState =>
  transitions[state][event] ?? state;
