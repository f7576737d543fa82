export { stateDiagram } from './diagram.ts';
export {
  advancePrecache,
  ensuredEffects,
  type PrecacheAdvance,
  type PrecacheEffect,
  type PrecacheEvent,
  precacheMachine,
  precacheTransitions,
} from './precache.ts';
