export { openStore, type QueueStore, type StoreOptions } from './store.ts';
