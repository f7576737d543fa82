import type { Builder } from './builder.ts';
import { mergeMetadata } from './merge.ts';
import { isSame, type Json } from './values.ts';

/** What of a kind's objects is enforced beside their metadata: the fields of the live object that change. */
export type Enforce = (live: Json, built: Json) => Json;

/** A kind that is merged into the live object and written whole (spec/cvo 3.2). */
export function merged(enforce: Enforce, rest: Partial<Builder> = {}): Builder {
  const merge = (live: Json, built: Json): Json => ({
    ...live,
    metadata: mergeMetadata(live.metadata, built.metadata),
    ...enforce(live, built),
  });
  return {
    build: (manifest) => manifest,
    merge,
    differs: (live, built) => {
      const next = merge(live, built);
      return Object.keys(next).some((key) => !isSame(live[key], next[key]));
    },
    ...rest,
  };
}
