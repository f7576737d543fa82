import type { SpokeJobEffect } from '@flotilla/rollout';
import { WOULD_WRITE } from '../spokes/port/hub-writer.ts';
import type { EffectDeps, SpokeObservation, SpokeReach, SpokeTask } from '../spokes/port/port.ts';
import type { JobState } from './definition.ts';
import { interpret, isHeldUp, type StepContext } from './interpret.ts';

/** What a step decided and when it wants to look again. */
export interface StepResult<S extends string> {
  readonly state: S;
  /** Why the spoke waits or failed. */
  readonly message?: string;
  /** When the spoke must be looked at again even if nothing happens, milliseconds since the epoch. */
  readonly wakeAt?: number;
  /** Something was written; in a rehearsal it would be. */
  readonly hasWritten?: true;
}

/** As many transitions as the observation allows, without any effect: pure. */
export function decide<S extends JobState>(
  state: S,
  spoke: SpokeObservation,
  context: StepContext<S>,
): { state: S; message: string | undefined; lookAt: number | undefined; effects: SpokeJobEffect[] } {
  const effects: SpokeJobEffect[] = [];
  let current = state;
  let message: string | undefined;
  let lookAt: number | undefined;
  for (;;) {
    const meaning = interpret(current, spoke, context);
    message = meaning.message ?? message;
    lookAt = meaning.lookAt;
    if (!meaning.event) break;
    const next = context.job.machine.advance(current, meaning.event);
    effects.push(...next.effects.filter((effect) => !effects.includes(effect)));
    if (next.state === current) break;
    message = meaning.message;
    current = next.state;
  }
  return { state: current, message, lookAt, effects };
}

/**
 * One step of one spoke: decide, then make what the new state requires true. Idempotent; safe to stop anywhere.
 * @param stored the state in the upgrade's status: a spoke is cleaned only after its verdict is stored.
 */
export async function runStep<S extends JobState>(
  task: SpokeTask,
  states: { readonly current: S; readonly stored: S | undefined },
  { spoke, begin }: Pick<SpokeReach, 'spoke' | 'begin'>,
  context: StepContext<S>,
  deps: EffectDeps,
): Promise<StepResult<S>> {
  const decision = decide(states.current, spoke, context);
  const { machine } = context.job;
  const deadline = machine.isFinal(decision.state) ? undefined : nextDeadline(context);
  // Another upgrade's spoke: nothing is created on it, and while that one works on it time does not count.
  if (context.heldBy !== undefined)
    return { state: decision.state, message: decision.message, wakeAt: context.holderEnded ? deadline : undefined };
  // Somebody has to mend something first; the edit that does wakes the spoke.
  if (!machine.isFinal(decision.state) && isHeldUp(spoke, context))
    return { state: decision.state, message: decision.message, wakeAt: deadline };
  const run = begin(task, decision.state, deps);
  for (const effect of [...decision.effects, ...machine.ensured(decision.state)]) {
    const cleaning = effect === 'remove' || effect === 'forget';
    if (!cleaning || states.stored === decision.state) await rehearsed(run[effect]());
    if (deps.isRehearsal && run.hasWritten) break;
  }
  const wakes = [run.wakeAt, decision.lookAt, deadline].filter((at) => at !== undefined);
  const wakeAt = wakes.length > 0 ? Math.min(...wakes) : undefined;
  return { state: decision.state, message: decision.message, wakeAt, ...(run.hasWritten && { hasWritten: true }) };
}

async function rehearsed(effect: Promise<void>): Promise<void> {
  try {
    await effect;
  } catch (error) {
    if (error !== WOULD_WRITE) throw error;
  }
}

/** The deadline while it lies ahead. */
const nextDeadline = ({ now, deadlineAt }: Pick<StepContext, 'now' | 'deadlineAt'>): number | undefined =>
  now < deadlineAt ? deadlineAt : undefined;
