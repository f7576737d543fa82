import { defined, isSame, isSameQuantity, type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { keepGiven } from './contracts.ts';
import { type Leave, withoutLeftovers } from './leftovers.ts';

/** The manifest's entries over the live ones: others stay, because somebody else may have put them there. */
export function mergeMaps(live: unknown, wanted: unknown): Json | undefined {
  const merged = { ...objectAt(live), ...objectAt(wanted) };
  return Object.keys(merged).length > 0 ? merged : undefined;
}

/** A text of the manifest where it has one. */
export const textOr = (wanted: unknown, live: unknown): unknown => (textAt(wanted) === '' ? live : wanted);

/** Name, labels and annotations of the manifest and its owners, beside what the live object has (spec/cvo 3.5). */
export function mergeMetadata(live: unknown, wanted: unknown): Json {
  const [before, next] = [objectAt(live), objectAt(wanted)];
  return defined({
    ...before,
    namespace: textOr(next.namespace, before.namespace),
    name: textOr(next.name, before.name),
    labels: mergeMaps(before.labels, next.labels),
    annotations: mergeMaps(before.annotations, next.annotations),
    ownerReferences: mergeOwners(before.ownerReferences, next.ownerReferences),
  });
}

/** Others stay. One of the same name and another uid is gone, and would be a second controller, which the server refuses. */
function mergeOwners(live: unknown, wanted: unknown): unknown {
  const owners = objectsAt(wanted);
  if (owners.length === 0) return live;
  const isGone = (owner: Json) => owners.some((one) => one.uid !== owner.uid && OWNER_NAME.every((key) => one[key] === owner[key]));
  const kept = objectsAt(live)
    .filter((owner) => !isGone(owner))
    .map((owner) => ({ ...owner, ...owners.find(({ uid }) => uid === owner.uid) }));
  return [...kept, ...owners.filter(({ uid }) => !kept.some((owner) => owner.uid === uid))];
}

const OWNER_NAME = ['apiVersion', 'kind', 'name'] as const;

/** Rule that tells the entries of a list apart, and merges or adds one. */
interface ListRule {
  readonly key: (entry: Json) => string;
  /** Default: the manifest's. */
  readonly merge?: (live: Json, wanted: Json) => Json;
  /** Completes an entry that the live list lacks; default: the manifest's. */
  readonly add?: (wanted: Json) => Json;
}

/**
 * The manifest's entries in its order, each merged with the live one of its key, where there is one; other live ones go. Of two entries of
 * one key each has its own: a server takes them when the object is made. Undefined where nothing is left.
 */
export function mergeByKey(live: unknown, wanted: unknown, { key, merge = (_, next) => next, add = (next) => next }: ListRule) {
  const before = Map.groupBy(objectsAt(live), key);
  const entries = objectsAt(wanted).map((entry) => {
    const same = before.get(key(entry))?.shift();
    return same ? merge(same, entry) : add(entry);
  });
  return entries.length > 0 ? entries : undefined;
}

/** The live quantities where the manifest's are of the same size. */
export function mergeQuantities(live: unknown, wanted: unknown): unknown {
  const [before, next] = [objectAt(live), objectAt(wanted)];
  const keys = Object.keys(next);
  const isEqual =
    keys.length === Object.keys(before).length && keys.every((key) => key in before && isSameQuantity(before[key], next[key]));
  return isEqual ? live : wanted;
}

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
