import { isSame, type Json } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { type Leave, withoutLeftovers } from './leftovers.ts';
import { mergeMetadata } from './merge.ts';

/** Returns the fields of a live object that are enforced beside its metadata. */
type Enforce = (live: Json, built: Json) => Json;

/**
 * A kind that is merged into the live object and written whole (spec/cvo 3.2).
 * @param leaves fields in which more than labels and annotations goes with the release that brought it
 */
export function merged(enforce: Enforce, rest: Partial<Builder> = {}, leaves: Readonly<Record<string, Leave>> = {}): Builder {
  const merge = (object: Json, built: Json): Json => {
    const live = withoutLeftovers(object, built, leaves);
    return { ...live, metadata: mergeMetadata(live.metadata, built.metadata), ...enforce(live, built) };
  };
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
