/**
 * Pre-caching of one spoke (spec/talm 3.4, without its defects; the diagram in apps/hub/README.md is generated from this machine).
 *
 *   NotStarted ─START▶ PreparingToStart ─NAMESPACE_GONE▶ Starting ─JOB_ACTIVE▶ Active ─SUCCEEDED▶ Succeeded
 *                        ↺ CLEANUP_REQUESTED                 │ SUCCEEDED ▶ Succeeded      ↺ JOB_ACTIVE
 *                                                            │ DEADLINE  ▶ PrecacheTimeout
 *                                                            │ FAILED    ▶ UnrecoverableError
 *
 * States carry in `meta.ensure` the effects that must hold while a spoke is in them. They are idempotent: a step runs
 * them again whenever it looks, so a killed process or a lost wake-up costs time, never state.
 */
import { PrecacheState } from '@flotilla/api';
import { setup, transition } from 'xstate';

/** What an observation can mean to the machine. */
export type PrecacheEvent =
  /** The spoke is free: nothing else is pre-caching it. */
  | { type: 'START' }
  /** The namespace of an earlier attempt is still on the spoke. */
  | { type: 'CLEANUP_REQUESTED' }
  /** Nothing of an earlier attempt is on the spoke. */
  | { type: 'NAMESPACE_GONE' }
  /** The job has a running pod. */
  | { type: 'JOB_ACTIVE' }
  | { type: 'SUCCEEDED' }
  /** The job's deadline, or the hub's for a spoke that does not answer. */
  | { type: 'DEADLINE' }
  | { type: 'FAILED' };

/** What a step must do for a spoke; each is idempotent. */
export type PrecacheEffect =
  | 'ensureNamespaceView'
  | 'requestCleanup'
  | 'ensureWorkload'
  | 'ensureJobViews'
  /** Removes what is on the spoke, then what is on the hub. */
  | 'cleanUp'
  /** Removes what is on the hub; the spoke keeps the job for whoever wants to know why it failed. */
  | 'cleanUpHub';

/** Names of the eleven transitions, for tests, metrics and documents. */
export const precacheTransitions = [
  { name: 'start', from: 'NotStarted', event: 'START', to: 'PreparingToStart' },
  { name: 'cleanup requested', from: 'PreparingToStart', event: 'CLEANUP_REQUESTED', to: 'PreparingToStart' },
  { name: 'namespace gone', from: 'PreparingToStart', event: 'NAMESPACE_GONE', to: 'Starting' },
  { name: 'job active', from: 'Starting', event: 'JOB_ACTIVE', to: 'Active' },
  { name: 'still active', from: 'Active', event: 'JOB_ACTIVE', to: 'Active' },
  { name: 'succeeded', from: 'Active', event: 'SUCCEEDED', to: 'Succeeded' },
  { name: 'straight from starting to succeeded', from: 'Starting', event: 'SUCCEEDED', to: 'Succeeded' },
  { name: 'deadline', from: 'Active', event: 'DEADLINE', to: 'PrecacheTimeout' },
  { name: 'failed', from: 'Active', event: 'FAILED', to: 'UnrecoverableError' },
  { name: 'failed at once', from: 'Starting', event: 'FAILED', to: 'UnrecoverableError' },
  { name: 'deadline at once', from: 'Starting', event: 'DEADLINE', to: 'PrecacheTimeout' },
] as const satisfies readonly { name: string; from: PrecacheState; event: PrecacheEvent['type']; to: PrecacheState }[];

interface StateMeta {
  readonly ensure: readonly PrecacheEffect[];
}

export const precacheMachine = setup({
  types: { events: {} as PrecacheEvent, meta: {} as StateMeta },
  actions: { requestCleanup: () => undefined },
}).createMachine({
  id: 'precache',
  initial: 'NotStarted',
  states: {
    NotStarted: { meta: { ensure: [] }, on: { START: 'PreparingToStart' } },
    PreparingToStart: {
      meta: { ensure: ['ensureNamespaceView'] },
      on: {
        CLEANUP_REQUESTED: { target: 'PreparingToStart', actions: 'requestCleanup' },
        NAMESPACE_GONE: 'Starting',
        // "deadline at once" also for a spoke that never answered: the same verdict, one state earlier.
        DEADLINE: 'PrecacheTimeout',
      },
    },
    Starting: {
      meta: { ensure: ['ensureWorkload', 'ensureJobViews'] },
      on: { JOB_ACTIVE: 'Active', SUCCEEDED: 'Succeeded', FAILED: 'UnrecoverableError', DEADLINE: 'PrecacheTimeout' },
    },
    Active: {
      meta: { ensure: ['ensureJobViews'] },
      on: { JOB_ACTIVE: 'Active', SUCCEEDED: 'Succeeded', FAILED: 'UnrecoverableError', DEADLINE: 'PrecacheTimeout' },
    },
    Succeeded: { type: 'final', meta: { ensure: ['cleanUp'] } },
    PrecacheTimeout: { type: 'final', meta: { ensure: ['cleanUpHub'] } },
    UnrecoverableError: { type: 'final', meta: { ensure: ['cleanUpHub'] } },
  },
});

/** What one event does to one state. */
export interface PrecacheAdvance {
  readonly state: PrecacheState;
  readonly effects: readonly PrecacheEffect[];
}

const advances = new Map<string, PrecacheAdvance>();

/** One transition: the next state and the effects of taking it. An event the state does not know changes nothing. */
export function advancePrecache(state: PrecacheState, event: PrecacheEvent): PrecacheAdvance {
  // Pure and without context, so each of the 49 answers is asked of the machine once: thousands of spokes take the same steps.
  const key = `${state} ${event.type}`;
  const known = advances.get(key);
  if (known) return known;
  const answer = askMachine(state, event);
  advances.set(key, answer);
  return answer;
}

function askMachine(state: PrecacheState, event: PrecacheEvent): PrecacheAdvance {
  const snapshot = precacheMachine.resolveState({ value: state });
  if (!snapshot.can(event)) return { state, effects: [] };
  const [next, actions] = transition(precacheMachine, snapshot, event);
  return {
    state: PrecacheState.parse(next.value),
    effects: actions.some((action) => action.type === 'requestCleanup') ? ['requestCleanup'] : [],
  };
}

const ensured = Object.fromEntries(
  Object.entries(precacheMachine.states).map(([state, node]) => [state, (node.meta as StateMeta | undefined)?.ensure ?? []]),
) as Record<PrecacheState, readonly PrecacheEffect[]>;

/** The effects that must hold while a spoke is in a state. */
export const ensuredEffects = (state: PrecacheState): readonly PrecacheEffect[] => ensured[state];
