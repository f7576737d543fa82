export { beforeWrites, clientWith, type HeldWatches, holdWatches, type SentWrite } from './client-wrappers.ts';
export { MemoryServer, type MemoryServerOptions } from './memory-server.ts';
export type { Write } from './objects.ts';
export { denied, UnsupportedError } from './refusals.ts';
