import type { SpokeJobEffect } from '@flotilla/rollout';
import type { Write } from '../../writes/apply.ts';
import type { SpokeObservation, SpokeReach, SpokeTask } from '../transports/port/port.ts';
import { SpokePlan } from '../transports/port/spoke-plan.ts';
import { interpret, isHeldUp, type StepContext } from './interpret.ts';
import type { JobState } from './kind.ts';

/** Advances the machine as far as the observation allows; returns the effects without running them. Pure. */
export function decide<S extends JobState>(
  state: S,
  spoke: SpokeObservation,
  context: StepContext<S>,
): { state: S; message: string | undefined; requeueAt: number | undefined; effects: SpokeJobEffect[] } {
  const effects: SpokeJobEffect[] = [];
  let current = state;
  let message: string | undefined;
  let requeueAt: number | undefined;
  for (;;) {
    const meaning = interpret(current, spoke, context);
    message = meaning.message ?? message;
    requeueAt = meaning.requeueAt;
    if (!meaning.event) break;
    const next = context.job.machine.advance(current, meaning.event);
    effects.push(...next.effects.filter((effect) => !effects.includes(effect)));
    if (next.state === current) break;
    message = meaning.message;
    current = next.state;
  }
  return { state: current, message, requeueAt, effects };
}

/** State of a spoke, and its missing writes. */
export interface StepPlan<S extends string> {
  readonly state: S;
  /** Reason for which the spoke waits or failed. */
  readonly message: string | undefined;
  readonly writes: readonly Write[];
  /** Time of the next plan even without events, milliseconds since the epoch. */
  readonly requeueAt: number | undefined;
}

/**
 * Advances the state and plans the writes that the new state requires. Pure.
 * @param states `stored`: the state in the upgrade's status; a spoke is cleaned only after its verdict is stored
 */
export function planStep<S extends JobState>(
  task: SpokeTask,
  states: { readonly current: S; readonly stored: S | undefined },
  { spoke, effects: effectsOf }: Pick<SpokeReach, 'spoke' | 'effects'>,
  context: StepContext<S>,
): StepPlan<S> {
  if (context.isStopping) return planStop(task, states.current, effectsOf, context.now);
  const { state, message, requeueAt, effects: taken } = decide(states.current, spoke, context);
  const { machine } = context.job;
  const isTimed = !machine.isFinal(state) && context.now < context.deadlineAt && Number.isFinite(context.deadlineAt);
  const deadline = isTimed ? context.deadlineAt : undefined;
  // Nothing is created on another upgrade's spoke, and time does not count while that upgrade works there.
  if (context.heldBy !== undefined) return { state, message, writes: [], requeueAt: context.holderEnded ? deadline : undefined };
  // The user's fix enqueues the spoke again.
  if (!machine.isFinal(state) && isHeldUp(spoke, context)) return { state, message, writes: [], requeueAt: deadline };
  const plan = new SpokePlan(context.now);
  const effects = effectsOf(task, state, plan);
  for (const effect of [...taken, ...machine.ensured(state)]) {
    const isCleaning = effect === 'remove' || effect === 'forget';
    if (!isCleaning || states.stored === state) effects[effect]();
  }
  for (const at of [requeueAt, deadline]) if (at !== undefined) plan.requeue(at);
  return { state, message, writes: plan.writes, requeueAt: plan.requeueAt };
}

/** Plans the removal of a stopped job, as after a success. */
function planStop<S extends string>(task: SpokeTask, state: S, effectsOf: SpokeReach['effects'], now: number): StepPlan<S> {
  const plan = new SpokePlan(now);
  effectsOf(task, state, plan).remove();
  return { state, message: undefined, writes: plan.writes, requeueAt: plan.requeueAt };
}
