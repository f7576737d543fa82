export { ManualClock } from '@flotilla/pace/testing';
