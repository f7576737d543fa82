export { MemoryServer, type MemoryServerOptions } from './memory-server.ts';
export type { Write } from './objects.ts';
export { denied, UnsupportedError } from './refusals.ts';
