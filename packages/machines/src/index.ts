export { backupJobMachine } from './backup.ts';
export { stateDiagram } from './diagram.ts';
export {
  advancePrecache,
  ensuredEffects,
  type PrecacheAdvance,
  type PrecacheEffect,
  type PrecacheEvent,
  precacheJobMachine,
  precacheMachine,
  precacheTransitions,
} from './precache.ts';
export type { SpokeJobAdvance, SpokeJobEffect, SpokeJobEvent, SpokeJobMachine } from './spoke-job.ts';
