/**
 * A job on one spoke, from the first look at the spoke to the verdict (spec/talm 3.4 and 5.1, without their defects). The diagrams in
 * apps/hub/README.md are generated from the machines.
 *
 *   NotStarted ─START▶ PreparingToStart ─NAMESPACE_GONE▶ Starting ─JOB_ACTIVE▶ Active ─SUCCEEDED▶ Succeeded
 *                        ↺ CLEANUP_REQUESTED                 │ SUCCEEDED ▶ Succeeded      ↺ JOB_ACTIVE
 *                                                            │ DEADLINE  ▶ PrecacheTimeout or BackupTimeout
 *                                                            │ FAILED    ▶ UnrecoverableError
 *
 * SPEC_CHANGED leads back to PreparingToStart from wherever something was begun. HELD, UNAVAILABLE and RETRY say what a state goes on waiting
 * for, until DEADLINE.
 *
 * States carry in `meta.ensure` the effects that must hold while a spoke is in them. They are idempotent: a step runs
 * them again whenever it looks, so a killed process or a lost wake-up costs time, never state.
 */

import { BackupState, PrecacheState } from '@flotilla/api/ran';
import { type AnyStateMachine, setup, transition } from 'xstate';

/**
 * Progress reports a second from all spokes of an upgrade together. Each costs a write on the hub, by a work 15 ms of its server's CPU, and must
 * leave room for new jobs and verdicts.
 */
export const REPORTS_PER_SECOND = 25;

/** Events that an observation can mean to a machine. */
export type SpokeJobEvent =
  /** Nothing may be put on the spoke: another upgrade has it, or somebody has to mend something first. */
  | { type: 'HELD' }
  /** The spoke is away. */
  | { type: 'UNAVAILABLE' }
  /** The spoke refused something that is tried again, as long as its budget lasts. */
  | { type: 'RETRY' }
  /** The spoke is free: nothing else runs such a job on it. */
  | { type: 'START' }
  /** The namespace of an earlier attempt is still on the spoke. */
  | { type: 'CLEANUP_REQUESTED' }
  /** Nothing of an earlier attempt is on the spoke. */
  | { type: 'NAMESPACE_GONE' }
  /** The objects on hub or spoke were made for a spec that has been edited since. */
  | { type: 'SPEC_CHANGED' }
  /** The job has a running pod. */
  | { type: 'JOB_ACTIVE' }
  | { type: 'SUCCEEDED' }
  /** The job's deadline, or the hub's for a spoke that does not answer. */
  | { type: 'DEADLINE' }
  | { type: 'FAILED' };

/** Effects that a step must carry out for a spoke; each is idempotent. */
export type SpokeJobEffect =
  /** Sees to it that it becomes known what is on the spoke. */
  | 'look'
  /** Removes what an earlier attempt left on the spoke. */
  | 'clear'
  /** Removes what is on the hub, so that everything is asked and made anew. */
  | 'startOver'
  /** Puts the job on the spoke. */
  | 'ensure'
  /** Sees to it that the hub learns how the job goes. */
  | 'watch'
  /** Removes what is on the spoke, then what is on the hub. */
  | 'remove'
  /** Removes what is on the hub; the spoke keeps the job for whoever wants to know why it failed. */
  | 'forget';

/** Result of one event in one state. */
interface SpokeJobAdvance<S extends string> {
  readonly state: S;
  readonly effects: readonly SpokeJobEffect[];
}

/** A machine, and what callers ask of it. */
export interface SpokeJobMachine<S extends string> {
  /** For the diagram. */
  readonly machine: AnyStateMachine;
  /** State of a spoke that nothing was done for. */
  readonly initial: S;
  /** One transition: the next state and the effects of taking it. An event the state does not know changes nothing. */
  readonly advance: (state: S, event: SpokeJobEvent) => SpokeJobAdvance<S>;
  /** The effects that must hold while a spoke is in a state. */
  readonly ensured: (state: S) => readonly SpokeJobEffect[];
  /** Nothing leads out of such a state. */
  readonly isFinal: (state: S) => boolean;
}

interface StateMeta {
  readonly ensure: readonly SpokeJobEffect[];
}

/** Differences between one kind of job and another. */
interface SpokeJobShape<S extends string> {
  readonly id: string;
  /** All its states; throws for what is none of them. */
  readonly states: { readonly parse: (value: unknown) => S };
  /** The first. A machine that begins in `NotStarted` leaves it by START. */
  readonly initial: S & ('NotStarted' | 'PreparingToStart');
  /** Where DEADLINE leads. */
  readonly timeout: S;
  /** As the reference: deletes what an earlier attempt may have left without looking first, and follows no edit of a spec; default false. */
  readonly talmStrict?: boolean;
}

/** The machine of one kind of job. */
function createSpokeJobMachine<S extends string>(shape: SpokeJobShape<S>): SpokeJobMachine<S> {
  const machine = buildMachine(shape);
  const ensured = new Map<string, readonly SpokeJobEffect[]>(
    Object.entries(machine.states).map(([state, node]) => [state, (node.meta as StateMeta | undefined)?.ensure ?? []]),
  );
  return {
    machine,
    initial: shape.initial,
    advance: remembered((state, event) => {
      const snapshot = machine.resolveState({ value: state });
      if (!snapshot.can(event)) return { state, effects: [] };
      const [next, actions] = transition(machine, snapshot, event);
      return { state: shape.states.parse(next.value), effects: actions.map(({ type }) => type).filter(isEffect) };
    }),
    ensured: (state) => ensured.get(state) ?? [],
    isFinal: (state) => state === 'Succeeded' || state === 'UnrecoverableError' || state === shape.timeout,
  };
}

function buildMachine({ id, initial, timeout, talmStrict = false }: Omit<SpokeJobShape<string>, 'states'>) {
  const edits = !talmStrict && { SPEC_CHANGED: { target: 'PreparingToStart', actions: 'startOver' } as const };
  const verdicts = { SUCCEEDED: 'Succeeded', FAILED: 'UnrecoverableError', DEADLINE: timeout };
  return setup({
    types: { events: {} as SpokeJobEvent, meta: {} as StateMeta },
    actions: { clear: () => undefined, startOver: () => undefined },
  }).createMachine({
    id,
    initial,
    states: {
      ...(initial === 'NotStarted' && {
        NotStarted: { meta: { ensure: [] }, on: { HELD: 'NotStarted', START: 'PreparingToStart', DEADLINE: timeout } },
      }),
      PreparingToStart: {
        meta: { ensure: talmStrict ? [] : ['look'] },
        on: {
          HELD: 'PreparingToStart',
          UNAVAILABLE: 'PreparingToStart',
          CLEANUP_REQUESTED: { target: talmStrict ? 'Starting' : 'PreparingToStart', actions: 'clear' },
          NAMESPACE_GONE: 'Starting',
          ...edits,
          // A spoke that never answered: the same verdict, one state earlier.
          DEADLINE: timeout,
        },
      },
      Starting: {
        meta: { ensure: ['ensure', 'watch'] },
        on: { HELD: 'Starting', UNAVAILABLE: 'Starting', RETRY: 'Starting', JOB_ACTIVE: 'Active', ...edits, ...verdicts },
      },
      Active: {
        meta: { ensure: ['watch'] },
        on: { HELD: 'Active', UNAVAILABLE: 'Active', JOB_ACTIVE: 'Active', ...edits, ...verdicts },
      },
      Succeeded: { type: 'final', meta: { ensure: ['remove'] } },
      [timeout]: { type: 'final', meta: { ensure: ['forget'] } },
      UnrecoverableError: { type: 'final', meta: { ensure: ['forget'] } },
    },
  });
}

const isEffect = (action: string): action is 'clear' | 'startOver' => action === 'clear' || action === 'startOver';

/** Pure and without context, so each of the few dozen answers is asked of the machine once: thousands of spokes take the same steps. */
function remembered<S extends string>(advance: SpokeJobMachine<S>['advance']): SpokeJobMachine<S>['advance'] {
  const answers = new Map<string, SpokeJobAdvance<S>>();
  return (state, event) => {
    const key = `${state} ${event.type}`;
    const answer = answers.get(key) ?? advance(state, event);
    answers.set(key, answer);
    return answer;
  };
}

/** Backup of one spoke. The reference knows no state before PreparingToStart: a spoke that waits for another upgrade waits there. */
export const backupJobMachine = createSpokeJobMachine<BackupState>({
  id: 'backup',
  states: BackupState,
  initial: 'PreparingToStart',
  timeout: 'BackupTimeout',
});

/** The same as the reference takes it: the deletions are made in `PreparingToStart` without looking whether there is anything to delete. */
export const strictBackupJobMachine = createSpokeJobMachine<BackupState>({
  id: 'strictBackup',
  states: BackupState,
  initial: 'PreparingToStart',
  timeout: 'BackupTimeout',
  talmStrict: true,
});

/** Pre-caching of one spoke; a spoke that waits for another upgrade has not started. */
export const precacheJobMachine = createSpokeJobMachine<PrecacheState>({
  id: 'precache',
  states: PrecacheState,
  initial: 'NotStarted',
  timeout: 'PrecacheTimeout',
});
