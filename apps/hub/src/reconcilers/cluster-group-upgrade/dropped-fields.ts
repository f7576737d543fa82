/** Fields that an API server does not keep: its CRD is an older one, or the reference's, which has none of our additions. Pure. */
import { isJsonObject } from '@flotilla/api';

/** The fields by name; `true` for one that is dropped with all it holds. */
export interface DroppedFields {
  readonly [field: string]: true | DroppedFields;
}

/** What of `sent` is not in `stored`, the server's answer to it. */
export function findDropped(sent: unknown, stored: unknown): DroppedFields {
  if (!isJsonObject(sent) || !isJsonObject(stored)) return {};
  const dropped: Record<string, true | DroppedFields> = {};
  for (const [field, value] of Object.entries(sent)) {
    if (value === undefined || value === null) continue;
    if (!(field in stored)) dropped[field] = true;
    else if (isJsonObject(value)) {
      const inside = findDropped(value, stored[field]);
      if (Object.keys(inside).length > 0) dropped[field] = inside;
    }
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
