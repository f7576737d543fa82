export type { ApplyOptions, CallOptions, Client, DeleteOptions, ListOptions, PatchOptions, WatchEvent, WatchOptions } from './client.ts';
