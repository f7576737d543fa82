/** Fields that an API server drops: its CRD is older, or the reference's without our additions. Pure. */
import { isJsonObject } from '@flotilla/api';

/** Fields by name; `true` for one that is dropped with its content. */
export interface DroppedFields {
  readonly [field: string]: true | DroppedFields;
}

/** Finds the fields of `sent` that the server's answer `stored` lacks, and keeps known ones that were not sent. */
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

/** True when a merge patch has only dropped fields, so that sending it would change nothing. */
export const isAllDropped = (patch: unknown, dropped: DroppedFields): boolean =>
  isJsonObject(patch) &&
  Object.entries(patch).every(([field, value]) => {
    const known = dropped[field];
    return known === true || (known !== undefined && isAllDropped(value, known));
  });
