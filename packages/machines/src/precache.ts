/** Pre-caching of one spoke (spec/talm 3.4; the diagram in apps/hub/README.md is generated from this machine). */
import { PrecacheState } from '@flotilla/api';
import { createSpokeJobMachine, type SpokeJobAdvance, type SpokeJobEffect, type SpokeJobEvent } from './spoke-job.ts';

export type PrecacheEvent = SpokeJobEvent;
export type PrecacheEffect = SpokeJobEffect;
export type PrecacheAdvance = SpokeJobAdvance<PrecacheState>;

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

/** Pre-caching of one spoke; a spoke that waits for another upgrade has not started. */
export const precacheJobMachine = createSpokeJobMachine<PrecacheState>({
  id: 'precache',
  states: PrecacheState,
  initial: 'NotStarted',
  timeout: 'PrecacheTimeout',
});

export const { machine: precacheMachine, advance: advancePrecache, ensured: ensuredEffects } = precacheJobMachine;
