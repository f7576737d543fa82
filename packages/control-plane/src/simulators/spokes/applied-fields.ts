import { isJsonObject, isSameJson } from '@flotilla/api';

type Json = Record<string, unknown>;

/** Result of one server-side apply. */
interface AppliedFields {
  readonly object: Json;
  /** Fields that somebody else owns with another value, as `.data.key`; not empty: nothing may be written unless it is forced. */
  readonly conflicts: readonly string[];
}

/**
 * Server-side apply as far as works need it: maps are merged, lists and scalars replaced whole; what this manager applied before and no
 * longer names goes, unless it was changed since. A field is somebody else's when its value is neither the wanted one nor the one this
 * manager applied last.
 */
export function applyFields(live: Json, before: Json | undefined, wanted: Json): AppliedFields {
  const conflicts: string[] = [];
  return { object: merged(live, before ?? {}, wanted, { path: '', conflicts }), conflicts };
}

function merged(live: Json, before: Json, wanted: Json, at: { path: string; conflicts: string[] }): Json {
  const result: Json = { ...live };
  for (const [key, value] of Object.entries(wanted)) {
    const path = `${at.path}.${key}`;
    const [now, was] = [live[key], before[key]];
    if (isJsonObject(value) && (now === undefined || isJsonObject(now)))
      result[key] = merged(now ?? {}, isJsonObject(was) ? was : {}, value, { ...at, path });
    else {
      if (now !== undefined && !isSameJson(now, value) && !isSameJson(now, was)) at.conflicts.push(path);
      result[key] = value;
    }
  }
  for (const [key, was] of Object.entries(before)) if (!Object.hasOwn(wanted, key)) withdraw(result, key, was);
  return result;
}

/** Takes away what this manager alone said. */
function withdraw(result: Json, key: string, was: unknown): void {
  const now = result[key];
  if (isJsonObject(was) && isJsonObject(now)) {
    const rest = merged(now, was, {}, { path: '', conflicts: [] });
    if (Object.keys(rest).length > 0) result[key] = rest;
    else delete result[key];
  } else if (isSameJson(now, was)) delete result[key];
}
