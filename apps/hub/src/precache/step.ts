import type { PrecacheState } from '@flotilla/api';
import { advancePrecache, ensuredEffects, type PrecacheEffect } from '@flotilla/machines';
import { type EffectDeps, EffectRun, type SpokeWork } from './effects.ts';
import { interpret, type StepContext } from './interpret.ts';
import type { SpokeObservation } from './observe.ts';

/** What a step found and did. */
export interface StepOutcome {
  readonly state: PrecacheState;
  /** Why the spoke waits or failed. */
  readonly message: string | undefined;
  /** When the spoke must be looked at again even if nothing happens, milliseconds since the epoch. */
  readonly wakeAt: number | undefined;
}

/** As many transitions as the observation allows, without any effect: pure. */
export function decide(
  state: PrecacheState,
  spoke: SpokeObservation,
  context: StepContext,
): { state: PrecacheState; message: string | undefined; effects: PrecacheEffect[] } {
  const effects: PrecacheEffect[] = [];
  let current = state;
  let message: string | undefined;
  for (;;) {
    const meaning = interpret(current, spoke, context);
    message = meaning.message ?? message;
    if (!meaning.event) break;
    const next = advancePrecache(current, meaning.event);
    effects.push(...next.effects);
    if (next.state === current) break;
    message = meaning.message;
    current = next.state;
  }
  return { state: current, message, effects };
}

/**
 * One step of one spoke: decide, then make what the new state requires true. Idempotent; safe to stop anywhere.
 * @param stored the state in the upgrade's status: a spoke is cleaned only after its verdict is stored.
 */
export async function runStep(
  work: SpokeWork,
  states: { readonly current: PrecacheState; readonly stored: PrecacheState | undefined },
  spoke: SpokeObservation,
  context: StepContext,
  deps: EffectDeps,
): Promise<StepOutcome> {
  const decision = decide(states.current, spoke, context);
  const run = new EffectRun(work, spoke, decision.state, deps);
  for (const effect of [...decision.effects, ...ensuredEffects(decision.state)]) {
    const cleaning = effect === 'cleanUp' || effect === 'cleanUpHub';
    if (!cleaning || states.stored === decision.state) await run.apply(effect);
  }
  const waiting = ['PreparingToStart', 'Starting', 'Active'].includes(decision.state);
  const deadline = waiting ? nextDeadline(context) : undefined;
  const wakeAt = run.wakeAt === undefined ? deadline : Math.min(run.wakeAt, deadline ?? Number.POSITIVE_INFINITY);
  return { state: decision.state, message: decision.message, wakeAt };
}

/** The deadline while it lies ahead. Before the first view there is none yet, and a spoke that never answers wakes nobody: then a look is due when it will have passed. */
function nextDeadline({ now, deadlineAt, patienceMs }: StepContext): number | undefined {
  if (!Number.isFinite(deadlineAt)) return now + Math.max(patienceMs, 1000);
  return now < deadlineAt ? deadlineAt : undefined;
}
