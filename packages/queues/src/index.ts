export { StoreUnavailableError } from './errors.ts';
export type { Log, QueueStore } from './queue-store.ts';
export { openStore, type StoreOptions } from './store.ts';
