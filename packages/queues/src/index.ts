export { type Dispatcher, type DispatcherOptions, type DispatcherSize, startDispatcher, type WantOptions } from './dispatcher.ts';
export { StepTimeoutError, StoreUnavailableError } from './errors.ts';
export { openInProcessStore } from './in-process-store.ts';
export type { Reserve } from './late-lane.ts';
export type { Log, QueueStore } from './line.ts';
export type { StepHandler } from './run-once.ts';
export { keyId, StepKey, StepKind } from './step-key.ts';
export { openStore, type StoreOptions } from './store.ts';
export { WakeTimers } from './wake-timers.ts';
