export { beforeWrites, clientWith, holdWatches, type SentWrite } from './client-wrappers.ts';
export { MemoryServer } from './memory-server.ts';
