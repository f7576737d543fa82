export { eventually, ManualClock } from '@flotilla/pace/testing';
