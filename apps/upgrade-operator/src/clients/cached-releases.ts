import { ConfigMap } from '@flotilla/api/core';
import { CACHED_RELEASES, readCachedReleases } from '@flotilla/api/managed';
import type { Client } from '@flotilla/runtime';
import type { Ports } from '../ports.ts';

const CALL_MS = 10_000;

/** Reads what the pullers of this cluster have noted. Without the ConfigMap nothing is. */
export function createCachedReleases(client: Pick<Client, 'get'>, namespace: string): Ports['cachedReleases'] {
  return {
    async read(signal) {
      const map = await client.get(ConfigMap, { namespace, name: CACHED_RELEASES }, { signal, timeoutMs: CALL_MS });
      return readCachedReleases(map?.data ?? {});
    },
  };
}
