/**
 * One manifest of a release on its way into the cluster (spec/cvo 3.2, 3.3, 3.8).
 *
 *   unserved → missing → unread → drifted → settling → done, each as one look at the object shows it
 *
 * A look may lead anywhere: what is there counts, not where the manifest was before. One to be deleted goes from unwanted over leaving to
 * done; one that fails is looked at again.
 */
import { setup, transition } from 'xstate';

/** What is to be done about a manifest; `done` is final. */
export const ManifestState = {
  /** Its kind is to be waited for. */
  unserved: 'unserved',
  /** Its object is to be created. */
  missing: 'missing',
  /** Its object is to be read and compared. */
  unread: 'unread',
  /** Its object is to be written. */
  drifted: 'drifted',
  /** Its object is to be waited for. */
  settling: 'settling',
  /** Its object is not as it should be, and may recover. */
  failing: 'failing',
  /** Its object is to be deleted. */
  unwanted: 'unwanted',
  /** Its object is on its way out. */
  leaving: 'leaving',
  done: 'done',
} as const;
export type ManifestState = (typeof ManifestState)[keyof typeof ManifestState];

/** What one look at a manifest's object shows. */
export interface ManifestLook {
  readonly intent: 'apply' | 'create-only' | 'delete';
  /** Its kind is served. */
  readonly isServed: boolean;
  /** How the object stands to the manifest. */
  readonly object: 'absent' | 'unread' | 'different' | 'same' | 'ending';
  /** How far the object is, once it is as the manifest says. */
  readonly verdict: 'ready' | 'reported' | 'waiting' | 'failed';
  /** What is to be deleted is deleted now: an update, and it was not deleted by it before. */
  readonly deletes: boolean;
}

type Guard = (look: ManifestLook) => boolean;
const guards = {
  isGone: ({ intent, isServed, object }) => intent === 'delete' && (!isServed || object === 'absent'),
  isLeaving: ({ intent, object }) => intent === 'delete' && object === 'ending',
  isUnwanted: ({ intent, deletes }) => intent === 'delete' && deletes,
  isLeft: ({ intent }) => intent === 'delete',
  isUnserved: ({ isServed }) => !isServed,
  isMissing: ({ object }) => object === 'absent',
  isForOthers: ({ intent }) => intent === 'create-only',
  isUnread: ({ object }) => object === 'unread',
  isDifferent: ({ object }) => object === 'different',
  isFailing: ({ verdict }) => verdict === 'failed',
  isOnItsWay: ({ verdict }) => verdict === 'waiting',
} satisfies Record<string, Guard>;

type ManifestEvent = ({ type: 'LOOK' } & ManifestLook) | { type: 'AGAIN' };
const asked =
  (judge: Guard) =>
  ({ event }: { event: ManifestEvent }) =>
    event.type === 'LOOK' && judge(event);

/** For the diagram, and for `stateOfManifest`. */
export const manifestMachine = setup({
  types: { events: {} as ManifestEvent },
  guards: {
    isGone: asked(guards.isGone),
    isLeaving: asked(guards.isLeaving),
    isUnwanted: asked(guards.isUnwanted),
    isLeft: asked(guards.isLeft),
    isUnserved: asked(guards.isUnserved),
    isMissing: asked(guards.isMissing),
    isForOthers: asked(guards.isForOthers),
    isUnread: asked(guards.isUnread),
    isDifferent: asked(guards.isDifferent),
    isFailing: asked(guards.isFailing),
    isOnItsWay: asked(guards.isOnItsWay),
  },
}).createMachine({
  id: 'manifest',
  initial: 'looking',
  states: {
    looking: {
      on: {
        LOOK: [
          { guard: 'isGone', target: 'done' },
          { guard: 'isLeaving', target: 'leaving' },
          { guard: 'isUnwanted', target: 'unwanted' },
          { guard: 'isLeft', target: 'done' },
          { guard: 'isUnserved', target: 'unserved' },
          { guard: 'isMissing', target: 'missing' },
          { guard: 'isForOthers', target: 'done' },
          { guard: 'isUnread', target: 'unread' },
          { guard: 'isDifferent', target: 'drifted' },
          { guard: 'isFailing', target: 'failing' },
          { guard: 'isOnItsWay', target: 'settling' },
          { target: 'done' },
        ],
      },
    },
    unserved: { on: { AGAIN: 'looking' } },
    missing: { on: { AGAIN: 'looking' } },
    unread: { on: { AGAIN: 'looking' } },
    drifted: { on: { AGAIN: 'looking' } },
    settling: { on: { AGAIN: 'looking' } },
    failing: { on: { AGAIN: 'looking' } },
    unwanted: { on: { AGAIN: 'looking' } },
    leaving: { on: { AGAIN: 'looking' } },
    done: { type: 'final' },
  },
});

const answers = new Map<string, ManifestState>();

/** What is to be done about a manifest after one look at its object. */
export function stateOfManifest(look: ManifestLook): ManifestState {
  const key = `${look.intent} ${look.isServed} ${look.object} ${look.verdict} ${look.deletes}`;
  const known = answers.get(key);
  if (known) return known;
  const [{ value }] = transition(manifestMachine, manifestMachine.resolveState({ value: 'looking' }), { type: 'LOOK', ...look });
  const state = Object.values(ManifestState).find((one) => one === value) ?? ManifestState.done;
  answers.set(key, state);
  return state;
}
