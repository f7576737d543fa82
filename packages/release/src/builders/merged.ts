import { isSame, type Json } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { keepGiven } from './contracts.ts';
import { type Leave, withoutLeftovers } from './leftovers.ts';
import { mergeMetadata } from './merge.ts';

/** Returns the fields of a live object that are enforced beside its metadata. */
type Enforce = (live: Json, built: Json) => Json;

/** True for two states of an object that a server may have written down otherwise; empty is as good as absent. */
export const isMuchTheSame = (live: Json, next: Json): boolean => Object.keys(next).every((key) => isSame(live[key], next[key]));

/**
 * A kind that is merged into the live object and written whole (spec/cvo 3.2).
 * @param leaves fields in which more than labels and annotations goes with the release that brought it
 */
export function merged(enforce: Enforce, rest: Partial<Builder> = {}, leaves: Readonly<Record<string, Leave>> = {}): Builder {
  return {
    build: (manifest) => manifest,
    merge: (object, built) => {
      const live = withoutLeftovers(object, built, leaves);
      return keepGiven(live, { ...live, metadata: mergeMetadata(live.metadata, built.metadata), ...enforce(live, built) });
    },
    resembles: isMuchTheSame,
    ...rest,
  };
}
