/** Pre-caching of one spoke (spec/talm 3.4; the diagram in apps/hub/README.md is generated from this machine). */
import { PrecacheState } from '@flotilla/api/ran';
import { createSpokeJobMachine } from './spoke-job.ts';

/** Pre-caching of one spoke; a spoke that waits for another upgrade has not started. */
export const precacheJobMachine = createSpokeJobMachine<PrecacheState>({
  id: 'precache',
  states: PrecacheState,
  initial: 'NotStarted',
  timeout: 'PrecacheTimeout',
  followsSpec: true,
});
