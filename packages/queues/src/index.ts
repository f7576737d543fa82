export type { QueueStore } from './queue-store.ts';
export { openStore, type StoreOptions } from './store.ts';
