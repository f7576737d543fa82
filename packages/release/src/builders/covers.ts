import { isJsonObject } from '@flotilla/api';
import { isEmpty, isSameQuantity, type Json } from '../json-values.ts';

/** Fields whose entries are quantities, in whatever object. */
const QUANTITIES = new Set(['limits', 'requests', 'hard', 'capacity', 'min', 'max', 'default', 'defaultRequest', 'maxLimitRequestRatio']);

/**
 * Finds out if a live object has every field of a manifest. Fields that only the live one has are somebody else's or defaults. An empty
 * value is as good as absent, quantities count by their size, and lists are compared entry by entry.
 */
export function covers(live: unknown, wanted: unknown): boolean {
  if (live === wanted || isEmpty(wanted)) return true;
  // A double of a definition's schema, which the server writes in full.
  if (typeof live === 'bigint' && typeof wanted === 'number') return Number(live) === wanted;
  if (Array.isArray(wanted))
    return Array.isArray(live) && live.length === wanted.length && wanted.every((entry, index) => covers(live[index], entry));
  if (!isJsonObject(wanted)) return isZeroDropped(live, wanted);
  if (!isJsonObject(live)) return Object.values(wanted).every((value) => isEmpty(value) || isZeroDropped(live, value));
  return Object.entries(wanted).every(([key, value]) =>
    QUANTITIES.has(key) && isJsonObject(value) ? coversQuantities(live[key], value) : covers(live[key], value),
  );
}

/** Servers leave out what says nothing: false and an empty text. */
const isZeroDropped = (live: unknown, wanted: unknown): boolean => live === undefined && (wanted === false || wanted === '');

const coversQuantities = (live: unknown, wanted: Json): boolean =>
  Object.entries(wanted).every(([key, value]) =>
    isJsonObject(live) ? isSameQuantity(live[key], value) || covers(live[key], value) : isEmpty(value),
  );
