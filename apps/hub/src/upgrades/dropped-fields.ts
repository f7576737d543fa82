/** Fields that an API server does not keep: its CRD is an older one, or the reference's, which has none of our additions. Pure. */
import { isJsonObject } from '@flotilla/api';

/** The fields by name; `true` for one that is dropped with all it holds. */
export interface DroppedFields {
  readonly [field: string]: true | DroppedFields;
}

/** What of `sent` is not in `stored`, the server's answer to it; and what was known to be dropped before and was not sent this time. */
export function findDropped(sent: unknown, stored: unknown, known: DroppedFields = {}): DroppedFields {
  if (!isJsonObject(sent) || !isJsonObject(stored)) return known;
  const dropped: Record<string, true | DroppedFields> = {};
  for (const field of new Set([...Object.keys(known), ...Object.keys(sent)])) {
    const [value, before] = [sent[field] ?? undefined, known[field]];
    const inside = field in stored ? findDropped(value, stored[field], typeof before === 'object' ? before : {}) : (before ?? {});
    if (value !== undefined && !(field in stored)) dropped[field] = true;
    else if (inside === true || Object.keys(inside).length > 0) dropped[field] = inside;
  }
  return dropped;
}

/** True when a merge patch says nothing but dropped fields: sending it would change nothing. */
export const isAllDropped = (patch: unknown, dropped: DroppedFields): boolean =>
  isJsonObject(patch) &&
  Object.entries(patch).every(([field, value]) => {
    const known = dropped[field];
    return known === true || (known !== undefined && isAllDropped(value, known));
  });
