/** Questions about the states of a job. Pure. */
import { perObject } from '@flotilla/api';
import type { JobState } from './kind.ts';

/** True for a state in which no object leads to a job yet. */
export const isBeginning = (state: JobState): boolean => state === 'NotStarted' || state === 'PreparingToStart';

/** True for a state in which a spoke may have no job yet. */
export const isOnItsWay = (state: JobState): boolean => isBeginning(state) || state === 'Starting';

/** Counts the spokes without an object that leads to a job. */
export const countBeginning = perObject(
  (states: Readonly<Record<string, JobState>>): number => Object.values(states).filter(isBeginning).length,
);

/** True when every spoke has its verdict. */
export const haveAllVerdicts = perObject((states: Readonly<Record<string, JobState>>): boolean =>
  Object.values(states).every((state) => !isOnItsWay(state) && state !== 'Active'),
);
